/** Runs a call on the spot: no side effects and nothing retained, so no write, unless it takes longer than anyone waits. */
import { type Admitted, fingerprintOf, jobFor, newInstance, waitLimit } from './admitted.ts'
import { Attempt } from './attempt.ts'
import { canceled, outcomeName } from './endings.ts'
import type { AttemptParts } from './job.ts'
import { canonicalJson } from './json.ts'
import type { Limits } from './limits.ts'
import { ANONYMOUS, type Outcome, type Reply } from './model.ts'
import type { ResultCache } from './ports.ts'
import { busy, type CallOptions, type Recorder } from './recorder.ts'
import { replyTo, replyWith } from './replies.ts'
import { retryDelay } from './retry.ts'
import { delay, within } from './waiting.ts'

/** Watching for a client's departure costs more than most calls; those that end sooner never pay for it. */
const PRESENCE_AFTER_MS = 25

export class InlineRunner {
  readonly #parts: AttemptParts
  readonly #limits: Limits
  readonly #recorder: Recorder
  readonly #cache: ResultCache

  constructor(parts: AttemptParts, limits: Limits, recorder: Recorder, cache: ResultCache) {
    this.#parts = parts
    this.#limits = limits
    this.#recorder = recorder
    this.#cache = cache
  }

  run(admitted: Admitted, options: CallOptions): Reply | Promise<Reply> {
    const { cache, requires } = admitted.operation
    // A result that was made with somebody's token is for those who bring that token.
    return cache.policy === 'server' && !requires
      ? this.#runCached(admitted, options, cache.ttlSeconds)
      : this.#run(admitted, options)
  }

  async #runCached(admitted: Admitted, options: CallOptions, ttlSeconds: number): Promise<Reply> {
    const { operation, call, owner, caller } = admitted
    const scope = operation.public ? '' : `${caller.tenant}|${owner}`
    const key = this.#parts.env.digest(
      canonicalJson([fingerprintOf(this.#parts.env, admitted), scope, call.locale ?? '']),
    )
    const remembered = this.#cache.get(key)
    if (remembered) return replyWith(identityOf(admitted), remembered)
    const job = jobFor(admitted)
    // What is remembered for everybody must not depend on who was the first to ask.
    const reply = await this.#run(admitted, options, operation.public ? { ...job, caller: ANONYMOUS } : job)
    if (reply.state === 'complete' && 'result' in reply) {
      this.#cache.set(key, { kind: 'result', value: reply.result }, ttlSeconds * 1000)
    }
    return reply
  }

  /** A handler that answers at once, for good, costs no promise. */
  #run(admitted: Admitted, options: CallOptions, job = jobFor(admitted)): Reply | Promise<Reply> {
    const { operation } = admitted
    if (!options.child && !this.#limits.hasSlot(operation)) throw busy(operation)
    const startedAt = this.#parts.env.clock.now()
    this.#limits.started(operation)
    const attempt = new Attempt(job, 1, this.#parts)
    const outcome = attempt.start(admitted.parsed)
    if (!outcome || (outcome.kind === 'fault' && operation.retry.attempts > 1))
      return this.#runOn(admitted, options, attempt, outcome, startedAt)
    this.#limits.ended(operation)
    return this.#conclude(admitted, attempt, outcome, startedAt)
  }

  async #runOn(
    admitted: Admitted,
    options: CallOptions,
    first: Attempt,
    firstOutcome: Outcome | undefined,
    startedAt: number,
  ): Promise<Reply> {
    const { operation, call } = admitted
    const { env } = this.#parts
    const endsAt = startedAt + waitLimit(operation, call)
    let handedOver = false
    try {
      let attempt = first
      let outcome = firstOutcome
      for (let failures = 0; ; ) {
        outcome ??= await this.#outcomeInTime(attempt, endsAt, options)
        if (!outcome) {
          handedOver = true
          return this.#recorder.recordRunning(admitted, attempt, failures)
        }
        const retryInMs =
          outcome.kind === 'fault' ? retryDelay(operation.retry, failures + 1, outcome.fault, env.random) : undefined
        if (retryInMs === undefined || attempt.stoppedBy) return this.#conclude(admitted, attempt, outcome, startedAt)
        failures++
        if (env.clock.now() + retryInMs > endsAt) return this.#recorder.recordWaiting(admitted, failures, retryInMs)
        await delay(env.clock, retryInMs)
        attempt = new Attempt(first.job, failures + 1, this.#parts)
        outcome = attempt.start(await operation.parseArgs(call.args))
      }
    } finally {
      if (!handedOver) this.#limits.ended(operation)
    }
  }

  async #outcomeInTime(attempt: Attempt, endsAt: number, options: CallOptions): Promise<Outcome | undefined> {
    const { clock } = this.#parts.env
    const limitMs = Math.max(0, endsAt - clock.now())
    const soon = await within(clock, Math.min(limitMs, PRESENCE_AFTER_MS), attempt.done)
    if (soon || limitMs <= PRESENCE_AFTER_MS) return soon
    const presence = options.presence?.()
    const leave = () => attempt.stop(canceled())
    if (presence?.aborted) leave()
    presence?.addEventListener('abort', leave, { once: true })
    try {
      return await within(clock, Math.max(0, endsAt - clock.now()), attempt.done)
    } finally {
      presence?.removeEventListener('abort', leave)
    }
  }

  #conclude(admitted: Admitted, attempt: Attempt, outcome: Outcome, startedAt: number): Reply | Promise<Reply> {
    const { observer, env } = this.#parts
    observer?.callEnded(admitted.operation, outcomeName(outcome), env.clock.now() - startedAt)
    if (attempt.storedObjects) return this.#settleObjects(admitted, outcome)
    return replyWith(identityOf(admitted), outcome)
  }

  /** Bytes that can be fetched belong to an instance, which says who may fetch them and until when; others go. */
  async #settleObjects(admitted: Admitted, outcome: Outcome): Promise<Reply> {
    const { objects, env } = this.#parts
    if (outcome.kind !== 'location' || outcome.location.kind !== 'object') {
      await objects.removeOwner(admitted.id)
      return replyWith(identityOf(admitted), outcome)
    }
    const instance = newInstance(env, admitted, { state: 'complete', attempt: 1, settled: 1, outcome })
    const standing = await this.#recorder.insert(instance)
    if (standing !== instance) await objects.removeOwner(instance.id)
    return replyTo(standing, env.clock.now())
  }
}

function identityOf({ call, operation }: Admitted) {
  return {
    requestId: call.requestId,
    model: operation.model,
    ...(call.sessionId !== undefined && { sessionId: call.sessionId }),
  }
}
