/**
 * The end of an unrecorded call. Observers and the audit trail get the outcome before the caller. If the result is an
 * object in the store, the call is recorded now.
 */

import type { Outcome } from '../../core/call/instance.ts'
import { questionsIn } from '../../core/call/questions.ts'
import type { Reply, Usage } from '../../core/call/reply.ts'
import type { Execution } from '../../core/ports/observer.ts'
import type { AuditTrail } from '../../core/ports/store.ts'
import { type Admitted, newInstance } from '../admit/admitted.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { AttemptParts } from '../attempt/job.ts'
import type { Acceptances } from '../record/acceptance.ts'
import { auditUnrecorded } from './audit.ts'
import { outcomeName } from './end-faults.ts'
import { type Identity, replyTo, replyWith } from './replies.ts'

export class UnrecordedEnds {
  readonly #parts: AttemptParts
  readonly #acceptances: Acceptances
  readonly #audit: AuditTrail

  constructor(parts: AttemptParts, acceptances: Acceptances, audit: AuditTrail) {
    this.#parts = parts
    this.#acceptances = acceptances
    this.#audit = audit
  }

  conclude(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Reply | Promise<Reply> {
    const { observer } = this.#parts
    const { operation } = admitted
    observer?.callEnded?.(operation, outcomeName(outcome), attempt.now() - startedAt)
    if (admitted.decision || objectIn(outcome)) return this.#account(admitted, attempt, outcome, startedAt)
    if (observer?.executedUnrecorded) {
      observer.executedUnrecorded(operation, this.#executionOf(admitted, attempt, outcome, startedAt))
    }
    return this.#replyOf(admitted, attempt, outcome, startedAt)
  }

  /** A call that a rule allowed, or that leaves a record, is in the audit trail before the caller gets its outcome. */
  async #account(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Promise<Reply> {
    const { observer } = this.#parts
    const execution = this.#executionOf(admitted, attempt, outcome, startedAt)
    try {
      await this.#audit.append(execution.entry)
    } catch (thrown) {
      if (attempt.storedObjects) await this.#acceptances.discard(admitted.id)
      throw thrown
    }
    try {
      return await this.#replyOf(admitted, attempt, outcome, startedAt)
    } finally {
      observer?.executed?.(admitted.operation, execution)
    }
  }

  #executionOf(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Execution {
    const { traceparent, run } = attempt
    const entry = auditUnrecorded(this.#parts.env, admitted, outcome, startedAt, run.failures + 1)
    return traceparent === undefined ? { entry, outcome } : { entry, outcome, traceparent }
  }

  #replyOf(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Reply | Promise<Reply> {
    if (objectIn(outcome)) return this.#recordObject(admitted, attempt, outcome, startedAt)
    const { grant } = admitted
    if (grant?.giveBack && outcome.kind === 'fault' && questionsIn(outcome.fault)) {
      return grant.giveBack().then(() => this.#tell(admitted, attempt, outcome, startedAt))
    }
    return this.#tell(admitted, attempt, outcome, startedAt)
  }

  #tell(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Reply | Promise<Reply> {
    const usage = { attempt: attempt.run.failures + 1, durationMs: attempt.now() - startedAt }
    const reply = replyWith(identityOf(admitted, usage), outcome)
    return attempt.storedObjects ? this.#acceptances.discard(admitted.id).then(() => reply) : reply
  }

  /**
   * Records the call, because the instance controls who may fetch the object and until when. Other bytes are removed.
   */
  async #recordObject(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Promise<Reply> {
    const { env } = this.#parts
    const { failures } = attempt.run
    const tries = failures + 1
    const endedAt = env.clock.now()
    const life = { state: 'complete' as const, attempt: tries, settled: tries, failures, outcome, endedAt }
    const instance = newInstance(env, admitted, life, startedAt)
    const posted = this.#parts.outbox?.ended(
      admitted.operation,
      () => this.#executionOf(admitted, attempt, outcome, startedAt).entry,
    )
    const standing = await this.#acceptances.insertOrDiscard(instance, posted)
    return replyTo(standing, env.clock.now())
  }
}

/** True if the result is an object in this server's store. */
function objectIn(outcome: Outcome): boolean {
  return outcome.kind === 'location' && outcome.location.kind === 'object'
}

export function identityOf({ call, operation }: Admitted, usage?: Usage): Identity {
  const identity: Identity = { requestId: call.requestId, model: operation.model }
  if (usage) identity.usage = usage
  if (call.sessionId !== undefined) identity.sessionId = call.sessionId
  return identity
}
