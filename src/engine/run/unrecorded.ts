/**
 * Runs a call without recording it, because it has no side effects and nothing is retained. The call is recorded only
 * if it outlasts the caller's wait.
 */

import { ANONYMOUS } from '../../core/call/caller.ts'
import type { Outcome } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import type { SlotOwner } from '../../core/fairness/slot-shares.ts'
import { canonicalJson, copyJson } from '../../core/json.ts'
import type { ResultCache } from '../../core/ports/cache.ts'
import type { AuditTrail } from '../../core/ports/store.ts'
import { within } from '../../core/within.ts'
import { type Admitted, askedFingerprint, jobFor, retentionMs, waitLimit } from '../admit/admitted.ts'
import { Attempt } from '../attempt/attempt.ts'
import type { AttemptRun } from '../attempt/attempt-run.ts'
import { deadlineOf } from '../attempt/call-terms.ts'
import type { Ending } from '../attempt/ending.ts'
import type { AttemptParts, Job } from '../attempt/job.ts'
import { canceled, faultOutcome } from '../end/end-faults.ts'
import { replyWith } from '../end/replies.ts'
import { identityOf, UnrecordedEnds } from '../end/unrecorded-ends.ts'
import type { Limits } from '../limits/limits.ts'
import type { Recorder, RunOptions } from '../record/recorder.ts'
import { busy } from '../record/room.ts'
import { retryDelay } from './retry.ts'
import type { Worker } from './worker.ts'

/** Listening for a client's departure costs more than most calls, so it starts only after this time. */
const PRESENCE_AFTER_MS = 25

type Failure = Extract<Outcome, { kind: 'fault' }>

export class InlineRunner {
  readonly #parts: AttemptParts
  readonly #limits: Limits
  readonly #recorder: Recorder
  readonly #cache: ResultCache
  readonly #ends: UnrecordedEnds
  readonly #worker: Worker

  constructor(
    parts: AttemptParts,
    limits: Limits,
    recorder: Recorder,
    worker: Worker,
    cache: ResultCache,
    audit: AuditTrail,
  ) {
    this.#parts = parts
    this.#limits = limits
    this.#recorder = recorder
    this.#worker = worker
    this.#cache = cache
    this.#ends = new UnrecordedEnds(parts, recorder.acceptances, audit)
  }

  run(admitted: Admitted, options: RunOptions): Reply | Promise<Reply> {
    const { operation, call } = admitted
    const { cache } = operation
    // A result that depends on a person's token or answers must not be shared with other callers.
    const own = operation.requires !== undefined || Object.keys(call.asking?.answers ?? {}).length > 0
    return cache.policy === 'server' && !own
      ? this.#runCached(admitted, options, cache.ttlSeconds)
      : this.#run(admitted, options)
  }

  async #runCached(admitted: Admitted, options: RunOptions, ttlSeconds: number): Promise<Reply> {
    const { operation, call, owner, caller } = admitted
    // Not joined into one text: a tenant and a subject may contain any character.
    const scope = operation.public ? null : [caller.tenant, owner]
    const key = this.#parts.env.digest(
      canonicalJson([askedFingerprint(this.#parts.env, admitted), scope, call.locale ?? '']),
    )
    const remembered = this.#cache.get(key)
    if (remembered) return replyWith(identityOf(admitted), remembered)
    const job = jobFor(admitted)
    // A result that is shared by all callers must not depend on the first caller.
    const reply = await this.#run(admitted, options, operation.public ? { ...job, caller: ANONYMOUS } : job)
    if (reply.state === 'complete' && 'result' in reply) {
      this.#cache.set(key, { kind: 'result', value: reply.result }, ttlSeconds * 1000)
    }
    return reply
  }

  /** A synchronous handler whose outcome is final needs no promise. */
  #run(admitted: Admitted, options: RunOptions, job = jobFor(admitted)): Reply | Promise<Reply> {
    const { operation } = admitted
    if (options.child) this.#limits.started(operation, admitted)
    const free = options.child === true || this.#limits.take(operation, admitted)
    if (free instanceof Promise)
      return free.then((taken) => (taken ? this.#begin(admitted, options, job) : this.#refuseBusy(admitted)))
    return free ? this.#begin(admitted, options, job) : this.#waitAndBegin(admitted, options, job)
  }

  async #waitAndBegin(admitted: Admitted, options: RunOptions, job: Job): Promise<Reply> {
    const { operation, call } = admitted
    const { clock } = this.#parts.env
    const askedMs = clock.monotonicMs()
    const taken = await this.#limits.waitForSlot(operation, admitted, waitLimit(operation, call))
    if (!taken) return this.#refuseBusy(admitted)
    if (!options.client?.signal.aborted) return this.#begin(admitted, options, job, clock.monotonicMs() - askedMs)
    this.#limits.ended(operation, admitted)
    await admitted.grant?.giveBack?.()
    throw canceled()
  }

  /** `waitedMs` is the time spent waiting for a slot. It counts as part of the wait for the reply. */
  #begin(admitted: Admitted, options: RunOptions, job: Job, waitedMs = 0): Reply | Promise<Reply> {
    const { operation } = admitted
    const startedAt = this.#parts.env.clock.now()
    const attempt = new Attempt(job, 1, this.#parts, firstRun(admitted, startedAt))
    const outcome = settled(attempt.start(admitted.parsed))
    if (!outcome || (outcome.kind === 'fault' && operation.retry.attempts > 1))
      return this.#runOn(admitted, options, attempt, outcome, startedAt, waitedMs)
    this.#limits.ended(operation, admitted)
    return this.#ends.conclude(admitted, attempt, outcome, startedAt)
  }

  #refuseBusy({ operation, grant }: Admitted): Promise<never> {
    if (!grant?.giveBack) throw busy(operation)
    return grant.giveBack().then(() => {
      throw busy(operation)
    })
  }

  async #runOn(
    admitted: Admitted,
    options: RunOptions,
    first: Attempt,
    firstOutcome: Outcome | undefined,
    startedAt: number,
    waitedMs: number,
  ): Promise<Reply> {
    const { operation, call } = admitted
    const endsAt = startedAt + waitLimit(operation, call) - waitedMs
    let handedOver = false
    let attempt = first
    try {
      for (let outcome = firstOutcome; ; ) {
        outcome ??= await this.#outcomeInTime(attempt, endsAt, options)
        if (!outcome) {
          handedOver = true
          return this.#recorder.recordRunning(admitted, attempt, startedAt, options)
        }
        const retryInMs = this.#retryIn(attempt, outcome)
        if (retryInMs === undefined) return this.#ends.conclude(admitted, attempt, outcome, startedAt)
        this.#worker.retries.log(attempt, (outcome as Failure).fault, retryInMs)
        const dueAt = attempt.now() + retryInMs
        const turn = await this.#turn(attempt, dueAt, endsAt, admitted, options)
        if (turn === 'left') return this.#ends.conclude(admitted, attempt, faultOutcome(canceled()), startedAt)
        if (turn === 'later')
          return this.#recorder.recordWaiting(admitted, attempt, dueAt - attempt.now(), startedAt, options)
        const { storedObjects } = attempt
        const failures = attempt.run.failures + 1
        attempt = new Attempt(first.job, failures + 1, this.#parts, { ...first.run, failures })
        attempt.follow(first)
        attempt.storedObjects = storedObjects
        outcome = settled(attempt.start(await operation.parseArgs(copyJson(call.args))))
      }
    } catch (thrown) {
      if (attempt.storedObjects) await this.#recorder.acceptances.discard(admitted.id)
      throw thrown
    } finally {
      if (!handedOver) attempt.whenReturned(() => this.#limits.ended(operation, admitted))
    }
  }

  /**
   * The delay before the next try. `undefined` if the outcome is final, or if the call's time would be over by then.
   */
  #retryIn(attempt: Attempt, outcome: Outcome): number | undefined {
    if (outcome.kind !== 'fault') return undefined
    const { terms, run, job } = attempt
    const delayMs = retryDelay(terms.retry, run.failures + 1, outcome.fault, this.#parts.env.random)
    if (delayMs === undefined || delayMs >= retentionMs(job.operation)) return undefined
    return attempt.now() + delayMs >= (run.endsAt ?? Number.POSITIVE_INFINITY) ? undefined : delayMs
  }

  /**
   * Waits until the next attempt may start: it is due, and the handler of this one has returned or its grace is over.
   * `later` if the caller does not wait that long, or if there is no slot for a second handler.
   */
  async #turn(
    attempt: Attempt,
    dueAt: number,
    endsAt: number,
    who: SlotOwner,
    options: RunOptions,
  ): Promise<'now' | 'later' | 'left'> {
    const { clock } = this.#parts.env
    const delayMs = dueAt - attempt.now()
    const heldUntil = attempt.now() + this.#worker.retries.holdMs(attempt, delayMs, attempt.run.endsAt)
    if (dueAt > endsAt) return 'later'
    const presence = options.client?.signal
    if (presence?.aborted) return 'left'
    const left = Promise.withResolvers<'left'>()
    const leave = () => left.resolve('left')
    presence?.addEventListener('abort', leave, { once: true })
    try {
      if (await within(clock, delayMs, left.promise)) return 'left'
      if (attempt.returned) return 'now'
      const returned = new Promise<'now'>((resolve) => attempt.whenReturned(() => resolve('now')))
      const first = await within(
        clock,
        Math.min(heldUntil, endsAt) - attempt.now(),
        Promise.race([returned, left.promise]),
      )
      if (first) return first
    } finally {
      presence?.removeEventListener('abort', leave)
    }
    return heldUntil <= endsAt && (await this.#takeBeside(attempt, who, options)) ? 'now' : 'later'
  }

  /** Takes a slot for the next attempt. The handler that still runs frees its slot when it returns. */
  async #takeBeside(late: Attempt, who: SlotOwner, options: RunOptions): Promise<boolean> {
    const { operation } = late.job
    if (options.child) this.#limits.started(operation, who)
    else if (!(await this.#limits.take(operation, who))) return false
    late.whenReturned(() => this.#limits.ended(operation, who))
    return true
  }

  async #outcomeInTime(attempt: Attempt, endsAt: number, options: RunOptions): Promise<Outcome | undefined> {
    const { clock } = this.#parts.env
    const limitMs = Math.max(0, endsAt - attempt.now())
    const soon = await within(clock, Math.min(limitMs, PRESENCE_AFTER_MS), attempt.done)
    if (soon || limitMs <= PRESENCE_AFTER_MS) return settled(soon)
    const presence = options.client?.signal
    const leave = () => attempt.stop(canceled())
    if (presence?.aborted) leave()
    presence?.addEventListener('abort', leave, { once: true })
    try {
      return settled(await within(clock, Math.max(0, endsAt - attempt.now()), attempt.done))
    } finally {
      presence?.removeEventListener('abort', leave)
    }
  }
}

/** An unrecorded call cannot wait: `handler-run.ts` refuses a `Deferred` of such a call. */
function settled(ending: Ending | undefined): Outcome | undefined {
  return ending?.kind === 'deferred' ? undefined : ending
}

function firstRun({ operation, call }: Admitted, startedAt: number): AttemptRun | undefined {
  const deadlineMs = deadlineOf(operation, call.terms)
  const deadlineAt = startedAt + (deadlineMs ?? 0)
  return deadlineMs === undefined ? undefined : { failures: 0, endsAt: deadlineAt, deadlineAt }
}
