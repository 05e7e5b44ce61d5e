/** Tells the remote side of a waiting call that the call has ended. */

import type { Instance } from '../../core/call/instance.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { Attempt } from '../attempt/attempt.ts'
import { AttemptContext } from '../attempt/attempt-context.ts'
import type { AttemptParts } from '../attempt/job.ts'
import { canceled } from '../end/end-faults.ts'
import { jobOf } from '../run/running.ts'

export function abandon(parts: AttemptParts, instance: Instance, operation: Operation): void {
  const { backend } = operation
  const { waiting, attempt: number, failures } = instance
  if (waiting === undefined || !backend.abandon) return
  const attempt = new Attempt(jobOf(instance, operation), number, parts, { failures })
  backend
    .abandon(waiting, new AttemptContext(attempt, parts))
    .catch((err) => parts.env.log.warn({ operation: operation.key, err }, 'could not tell a remote tool to stop'))
    .finally(() => attempt.refuse(canceled()))
}
