/** Records calls before they run. `repeats.ts` handles calls that were recorded before. */

import type { Instance } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import type { CallOptions, Client, OwedReply } from '../../core/ports/calls.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import { type Admitted, approvalRequest, newInstance, waitLimit } from '../admit/admitted.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { canceled } from '../end/end-faults.ts'
import { replyTo } from '../end/replies.ts'
import { type EndWatch, endOf, hasEnded, tellOf, watchEnd } from '../follow/waiting.ts'
import type { Limits } from '../limits/limits.ts'
import { owingOf } from '../owed/notes.ts'
import type { OwedReplies } from '../owed/owed-replies.ts'
import type { Worker } from '../run/worker.ts'
import { APPROVAL_TTL_MS, type Approvals } from '../wait/approvals.ts'
import type { CallSecrets } from '../wait/call-secrets.ts'
import { Acceptances, type Refused, unexpected } from './acceptance.ts'
import { Repeats } from './repeats.ts'
import { Room } from './room.ts'

/** The options of protocols, and those that only the engine sets. */
export interface RunOptions extends Omit<CallOptions, 'client' | 'untilEnd' | 'cancelsWhenGone'> {
  client?: Pick<Client, 'signal'> & Partial<Pick<Client, 'origin'>>
  /**
   * A handler made the call. It does not wait for a slot: a child that waits for its parent's slot would wait forever.
   */
  child?: boolean
  /** The server made the call. The limits per caller do not apply. */
  ours?: boolean
  /** Earlier approvals of the same call do not count. */
  renewed?: boolean
}

export class Recorder {
  readonly acceptances: Acceptances
  readonly #env: Environment
  readonly #store: Store
  readonly #limits: Limits
  readonly #worker: Worker
  readonly #approvals: Approvals
  readonly #secrets: CallSecrets
  readonly #owed: OwedReplies
  readonly #repeats: Repeats
  readonly #room: Room

  constructor(
    env: Environment,
    store: Store,
    objects: ObjectStore,
    limits: Limits,
    worker: Worker,
    approvals: Approvals,
    secrets: CallSecrets,
    owed: OwedReplies,
  ) {
    this.#env = env
    this.#store = store
    this.#limits = limits
    this.#worker = worker
    this.#approvals = approvals
    this.#secrets = secrets
    this.#owed = owed
    this.acceptances = new Acceptances(env, store, objects, limits)
    this.#repeats = new Repeats(env, store, owed)
    this.#room = new Room(limits, worker)
  }

  /** Throws at once if there is no room. Promises are created only for the writes. */
  record(asked: Admitted, options: RunOptions): Promise<Reply> {
    const admitted = this.#sealed(asked)
    if (admitted.held) return this.#recordHeld(admitted, options)
    const free = this.#room.takeSlot(admitted, options)
    if (free instanceof Promise) return this.#recordOnceFree(free, admitted, options)
    return this.#recordInRoom(admitted, options, this.#room.take(admitted, options, free))
  }

  /** Seals the secrets before the call takes a slot, because sealing fails if the key cannot be read. */
  #sealed(admitted: Admitted): Admitted {
    const sealed = this.#secrets.seal(admitted.id, admitted.given)
    return sealed ? { ...admitted, sealed } : admitted
  }

  /** Records the call once it is known whether it has a slot. */
  async #recordOnceFree(free: Promise<boolean>, admitted: Admitted, options: RunOptions): Promise<Reply> {
    const { clock } = this.#env
    const askedMs = clock.monotonicMs()
    const startNow = this.#room.take(admitted, options, await free)
    return this.#recordInRoom(admitted, options, startNow, clock.monotonicMs() - askedMs)
  }

  /** `waitedMs` is the time spent waiting for a slot. It counts as part of the wait for the reply. */
  #recordInRoom(admitted: Admitted, options: RunOptions, startNow: boolean, waitedMs = 0): Promise<Reply> {
    const { clock } = this.#env
    const waits = waitFor(admitted, options) - waitedMs > 0
    const life = startNow ? this.#leased(1) : { dueAt: clock.now() }
    const instance = newInstance(this.#env, waits ? awaitingDirectly(admitted) : admitted, life)
    // Another node may end a queued call before this one knows that it is recorded.
    const watching = startNow ? undefined : this.#watch(instance, admitted, options, waitedMs)
    const accepting = this.acceptances.accept(
      instance,
      () => this.#room.giveBack(admitted, startNow),
      recordsOf(admitted),
      !startNow && this.#worker.claims ? this.#worker.leaseMs : undefined,
    )
    if (watching) accepting.catch(() => watching.stop())
    return accepting.then((acceptance) => {
      if (acceptance.kind !== 'created') {
        watching?.stop()
        return this.#refused(acceptance, admitted, options)
      }
      const leased = startNow && this.#worker.stillLeased(instance)
      if (leased instanceof Promise)
        return leased.then((held) => {
          if (!held) this.#worker.leave(instance, admitted.operation)
          const watch = this.#watch(instance, admitted, options, waitedMs)
          return this.#accepted(instance, admitted, options, held, held ? watch : this.#late(instance, watch))
        })
      const watch = watching ?? this.#watch(instance, admitted, options, waitedMs)
      return this.#accepted(instance, admitted, options, startNow, watch)
    })
  }

  /** A watch that may have begun after another node ended the call. */
  #late(instance: Instance, watch: EndWatch | undefined): EndWatch | undefined {
    return watch && { ended: endOf(this.#store, instance, watch), stop: () => watch.stop() }
  }

  /** `undefined` if the caller does not wait. */
  #watch(instance: Instance, admitted: Admitted, options: RunOptions, waitedMs: number): EndWatch | undefined {
    const waitMs = waitFor(admitted, options) - waitedMs
    return waitMs > 0 ? watchEnd(this.#env.clock, this.#store, instance.id, waitMs) : undefined
  }

  /** The call was recorded before, or another call has used its approval. */
  async #refused(why: Refused, admitted: Admitted, options: RunOptions): Promise<Reply> {
    if (why.kind !== 'records-differ')
      return this.#repeats.answer(admitted, why, waitFor(admitted, options), options.owed)
    if (!admitted.askAgain) throw unexpected()
    return this.record(await admitted.askAgain(), options)
  }

  #accepted(
    instance: Instance,
    admitted: Admitted,
    options: RunOptions,
    startNow: boolean,
    watching: EndWatch | undefined,
  ): Reply | Promise<Reply> {
    const { operation, parsed } = admitted
    // A message that is delivered again must find its call, so such a call is kept although its caller was told.
    if (operation.model === 'sync' && watching && !options.redelivers) this.#worker.expectDirectly(instance.id)
    this.#keepSecrets(instance, admitted)
    if (startNow) this.#worker.start(instance, operation, { parsed })
    else this.#worker.wake()
    // OpenCALL, "Asynchronous": the first response says accepted, and the handler has not started at this moment.
    if (!watching) {
      this.#told(instance, options)
      return replyTo(operation.model === 'async' ? { ...instance, state: 'accepted' } : instance, 0)
    }
    const { owed, recorded } = options
    const cancelKeeping = owed ? this.#owed.keepSoon(owingOf(instance), owed, recorded) : recorded?.()
    return watching.ended.then((ended) => {
      cancelKeeping?.()
      this.#worker.waitsNoMore(instance.id)
      return ended ? replyTo(ended, this.#env.clock.now()) : this.#replyUnended(instance, owed)
    })
  }

  /** The call is recorded, and its caller learns of it before its end. */
  #told(instance: Instance, { owed, recorded }: RunOptions): void {
    if (owed) this.#owed.begin(owingOf(instance), owed)
    recorded?.()
  }

  /** Records the call before an approver is asked. A worker claims it when the approval is decided or expires. */
  async #recordHeld(admitted: Admitted, options: RunOptions): Promise<Reply> {
    const { decision = { verdict: 'hold' } } = admitted
    this.#limits.requireRoom(admitted, false)
    const approval = await this.#approvals.reserve(approvalRequest(this.#env, admitted, decision), admitted.id)
    this.#limits.opened(admitted)
    const ttlMs = decision.approvalTtlMs ?? APPROVAL_TTL_MS
    const instance = newInstance(this.#env, admitted, {})
    const held: Instance = {
      ...instance,
      dueAt: instance.createdAt + ttlMs,
      expiresAt: instance.expiresAt + ttlMs,
      keepUntil: instance.keepUntil + ttlMs,
      progress: { fraction: 0, message: 'Waiting for an approval.' },
    }
    const opening = recordsOf(admitted, this.#approvals.opening(approval))
    const acceptance = await this.acceptances.accept(held, () => this.#limits.closed(admitted), opening)
    if (acceptance.kind !== 'created') {
      await this.#approvals.unreserve(approval)
      return this.#refused(acceptance, admitted, options)
    }
    this.#keepSecrets(held, admitted)
    this.#approvals.opened(approval)
    this.#worker.wake()
    this.#told(held, options)
    return replyTo(held, 0)
  }

  /** An inline call did not end within the wait. It is recorded now, and the worker renews its lease. */
  async recordRunning(asked: Admitted, attempt: Attempt, startedAt: number, options: RunOptions): Promise<Reply> {
    const { id, operation } = asked
    const { failures } = attempt.run
    const life = { ...this.#leased(failures + 1), settled: failures, failures }
    let instance: Instance | undefined
    let standing: Instance | undefined
    try {
      const admitted = this.#sealed(asked)
      instance = newInstance(this.#env, admitted, life, startedAt + attempt.wallSetMs)
      standing = await this.acceptances.insert(instance, recordsOf(admitted))
    } finally {
      if (!standing || standing !== instance) {
        attempt.stop(canceled())
        attempt.whenReturned(() => {
          this.#limits.ended(operation, asked)
          void this.acceptances.discard(id)
        })
      }
    }
    if (standing === instance) {
      this.#keepSecrets(instance, asked)
      this.#worker.adopt(attempt, instance, operation)
      this.#told(instance, options)
      return replyTo(instance, 0)
    }
    return this.#replyUnended(standing, options.owed)
  }

  /** An inline call failed, and its next attempt is due after the caller's wait. */
  async recordWaiting(
    asked: Admitted,
    failed: Attempt,
    retryInMs: number,
    startedAt: number,
    options: RunOptions,
  ): Promise<Reply> {
    const { retries } = this.#worker
    const admitted = this.#sealed(asked)
    const failures = failed.run.failures + 1
    const failedAt = failed.now()
    const holdMs = retries.holdMs(failed, Math.max(0, retryInMs), failed.run.endsAt)
    const dueAt = this.#env.clock.now() + holdMs
    const life = { state: 'pending' as const, attempt: failures, settled: failures, failures, dueAt }
    const instance = newInstance(this.#env, admitted, life, startedAt + failed.wallSetMs)
    const standing = await this.acceptances.insertOrDiscard(instance, recordsOf(admitted))
    if (standing === instance) this.#keepSecrets(instance, admitted)
    this.#worker.wake()
    if (standing === instance) {
      retries.pullForward(failed, instance, failedAt + retryInMs, failedAt + holdMs)
      this.#told(instance, options)
      return replyTo(instance, 0)
    }
    return this.#replyUnended(standing, options.owed)
  }

  /** Records a stream. If the same request was recorded before, the reply to that one is `standing`. */
  async recordStream(
    asked: Admitted,
    life: Pick<Instance, 'state' | 'attempt'> & { dueAt: number },
    further: readonly RecordChange[],
    options: RunOptions,
  ): Promise<{ instance: Instance } | { standing: Reply }> {
    const { stream } = asked
    const admitted = this.#sealed(asked)
    const instance = newInstance(this.#env, admitted, life)
    const records = [...(recordsOf(admitted) ?? []), ...further]
    this.#limits.opened(asked)
    const acceptance = await this.acceptances.accept(instance, () => this.#limits.closed(asked), records)
    if (acceptance.kind === 'created') {
      this.#keepSecrets(instance, admitted)
      this.#told(instance, options)
      return { instance }
    }
    if (acceptance.kind !== 'records-differ')
      return { standing: await this.#repeats.answer(admitted, acceptance, 0, options.owed) }
    // Another call has used the approval.
    if (!asked.askAgain) throw unexpected()
    return this.recordStream({ ...(await asked.askAgain()), ...(stream && { stream }) }, life, further, options)
  }

  /**
   * The call has not ended in time, or an earlier call takes its place. Replies with its state, or with its end if it
   * has ended.
   */
  async #replyUnended(instance: Instance, owed?: OwedReply): Promise<Reply> {
    const now = hasEnded(instance) ? instance : await tellOf(this.#store, instance)
    if (owed && !(now && hasEnded(now))) await this.#owed.keep(owingOf(instance), owed)
    return replyTo(now && hasEnded(now) ? now : instance, this.#env.clock.now())
  }

  #keepSecrets(instance: Instance, { given }: Admitted): void {
    if (given) this.#secrets.keep(instance, given)
  }

  #leased(attempt: number): Pick<Instance, 'state' | 'attempt'> & { dueAt: number } {
    return { state: 'pending', attempt, dueAt: this.#env.clock.now() + this.#worker.leaseMs }
  }
}

/** A call whose caller waits for its end. Its request is acknowledged after the end. */
function awaitingDirectly(admitted: Admitted): Admitted {
  const { replyTo } = admitted
  return replyTo ? { ...admitted, replyTo: { ...replyTo, direct: true } } : admitted
}

/** The records to write with the acceptance of a call. `undefined` for nearly every call. */
function recordsOf(
  { grant, sealed, together }: Admitted,
  further: readonly RecordChange[] = grant?.use ?? [],
): readonly RecordChange[] | undefined {
  if (!sealed && !together) return further.length > 0 ? further : undefined
  return [...further, ...(together ?? []), ...(sealed ? [sealed] : [])]
}

function waitFor({ operation, call }: Admitted, { holdMs = 0 }: RunOptions): number {
  return operation.model === 'sync' ? waitLimit(operation, call) : holdMs
}
