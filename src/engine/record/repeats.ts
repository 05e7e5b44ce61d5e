/**
 * Calls that were recorded before. A repeat with the same input joins the recorded call; a repeat with other input is
 * refused.
 */

import { storedFingerprint } from '../../core/call/fingerprint.ts'
import type { Instance } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import { isTerminal } from '../../core/call/state.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { OwedReply } from '../../core/ports/calls.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store, Taken } from '../../core/ports/store.ts'
import { type Admitted, askedFingerprint, retentionMs } from '../admit/admitted.ts'
import { replyTo } from '../end/replies.ts'
import { endOf, hasEnded, tellOf, watchEnd } from '../follow/waiting.ts'
import type { OwedReplies } from '../owed/owed-replies.ts'

export class Repeats {
  readonly #env: Environment
  readonly #store: Store
  readonly #owed: OwedReplies

  constructor(env: Environment, store: Store, owed: OwedReplies) {
    this.#env = env
    this.#store = store
    this.#owed = owed
  }

  /**
   * The request id or the key was used before. A call with the same input joins the recorded one; other input is
   * refused.
   */
  async answer(admitted: Admitted, taken: Taken, waitMs: number, owed?: OwedReply): Promise<Reply> {
    const reply = await this.#answer(admitted, taken, waitMs)
    if (owed) await this.#owe(admitted, taken, owed, reply)
    return reply
  }

  async #answer(admitted: Admitted, taken: Taken, waitMs: number): Promise<Reply> {
    const { call, operation } = admitted
    const same = storedFingerprint(this.#env.digest, taken.instance) === askedFingerprint(this.#env, admitted)
    if (taken.kind === 'request-id-taken') {
      if (!same) throw duplicateRequest(call.requestId)
      return this.#join(taken.instance, waitMs)
    }
    if (!same) throw keyReused(operation)
    return this.#join(await this.#alias(admitted, taken.instance), waitMs)
  }

  /** This caller may have another address than the one that made the call, or the server that it reached is gone. */
  async #owe({ call }: Admitted, { instance }: Taken, owed: OwedReply, { state }: Reply): Promise<void> {
    const { requestId, sessionId } = call
    const owing = { instance, requestId, ...(sessionId !== undefined && { sessionId }) }
    if (isTerminal(state)) this.#owed.begin(owing, owed)
    else await this.#owed.keep(owing, owed)
  }

  /**
   * The stored call under the new request id and session. The alias is stored only if the caller can poll the call
   * later.
   */
  async #alias(
    { call, operation, caller, owner }: Admitted,
    { sessionId: _first, ...instance }: Instance,
  ): Promise<Instance> {
    const retained = operation.ttlSeconds > 0 || !hasEnded(instance) || instance.outcome?.kind === 'location'
    const expiresAt = retained ? Math.min(this.#env.clock.now() + retentionMs(operation), instance.keepUntil) : 0
    const session = call.sessionId === undefined ? {} : { sessionId: call.sessionId }
    if (retained) {
      const { tenant } = caller
      const { requestId } = call
      const aliased = await this.#store.alias({
        tenant,
        owner,
        requestId,
        instanceId: instance.id,
        expiresAt,
        ...session,
      })
      // Two concurrent copies of the same repeat create the same alias. This is not a conflict.
      if (aliased.kind !== 'created' && aliased.instance.id !== instance.id) throw duplicateRequest(requestId)
    }
    return { ...instance, requestId: call.requestId, expiresAt, ...session }
  }

  async #join(instance: Instance, waitMs: number): Promise<Reply> {
    const { clock } = this.#env
    const store = this.#store
    if (hasEnded(instance)) return replyTo(instance, clock.now())
    const inTime = await endOf(store, instance, watchEnd(clock, store, instance.id, waitMs))
    const ended = inTime ?? (await tellOf(store, instance))
    return replyTo(
      {
        ...instance,
        ...(ended && endingOf(ended)),
        ...(ended && ended.requestId === instance.requestId && { expiresAt: ended.expiresAt }),
      },
      clock.now(),
    )
  }
}

/** The fields that change when a call ends. */
function endingOf({ state, failures, outcome, endedAt }: Instance): Partial<Instance> {
  return { state, failures, ...(outcome && { outcome }), ...(endedAt !== undefined && { endedAt }) }
}

export function keyReused({ name }: Operation): Fault {
  const message = `The idempotency key was used for a call of ${name.full} with other input. Use a new key for a new call.`
  return new Fault('conflict', message, { code: 'IDEMPOTENCY_KEY_REUSED' })
}

export function duplicateRequest(requestId: string): Fault {
  return new Fault(
    'conflict',
    `The request id "${requestId}" was used for another call. Use a new one for each call.`,
    {
      code: 'DUPLICATE_REQUEST_ID',
    },
  )
}
