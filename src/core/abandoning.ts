/** Lets the other side of a call that waits for an answer know that nobody waits any more. */
import { Attempt } from './attempt.ts'
import { canceled } from './endings.ts'
import { AttemptContext } from './handler-context.ts'
import type { AttemptParts } from './job.ts'
import type { Instance } from './model.ts'
import type { Operation } from './operation.ts'
import { jobOf } from './running.ts'

export function abandon(parts: AttemptParts, instance: Instance, operation: Operation): void {
  const { backend } = operation
  const { waiting, attempt: number, failures } = instance
  if (waiting === undefined || !backend.abandon) return
  const attempt = new Attempt(jobOf(instance, operation), number, parts, { failures })
  backend
    .abandon(waiting, new AttemptContext(attempt, parts))
    .catch((err) => parts.env.log.warn({ operation: operation.key, err }, 'a remote tool was not told to stop'))
    .finally(() => attempt.refuse(canceled()))
}
