/**
 * The path of a call: resolve, admit, validate, decide, then either run it at once or record it for the worker. The
 * engine contains no protocol, no status code and no SQL.
 */

import type { Call, MediaInput } from '../core/call/call.ts'
import { correlate } from '../core/call/call.ts'
import { ANONYMOUS, type Caller, ownerOf } from '../core/call/caller.ts'
import type { ChildOptions } from '../core/call/context.ts'
import { checkMedia } from '../core/call/media.ts'
import type { Reply } from '../core/call/reply.ts'
import { Fault } from '../core/fault.ts'
import type { JsonValue } from '../core/json.ts'
import { isKeyed } from '../core/operation/keyed.ts'
import type { Operation } from '../core/operation/operation.ts'
import { checkAnswers, checkRequirements, NOTHING_GIVEN, personOf } from '../core/operation/requirements.ts'
import type { ResultCache } from '../core/ports/cache.ts'
import type { Decision, Guard, Identify } from '../core/ports/guard.ts'
import type { Sealer } from '../core/ports/secrets.ts'
import type { Store } from '../core/ports/store.ts'
import { type Admitted, approvalRequest, OVERRUN_RETENTION_MS } from './admit/admitted.ts'
import { decideAll, denied } from './admit/verdicts.ts'
import type { AttemptParts, Job } from './attempt/job.ts'
import { auditRefusal } from './end/audit.ts'
import { faultOutcome } from './end/end-faults.ts'
import { replyTo } from './end/replies.ts'
import { hasEnded, watchFor } from './follow/waiting.ts'
import type { Limits } from './limits/limits.ts'
import { harmless } from './observing.ts'
import { Recorder, type RunOptions } from './record/recorder.ts'
import type { Registry } from './registry.ts'
import { InlineRunner } from './run/unrecorded.ts'
import { Worker, type WorkerSettings } from './run/worker.ts'
import { contended } from './wait/approval-faults.ts'
import { Approvals, type Grant, MOST_TRIES } from './wait/approvals.ts'
import { CallSecrets } from './wait/call-secrets.ts'
import { HeldCalls } from './wait/held-calls.ts'

export interface EngineParts extends Omit<AttemptParts, 'callChild'> {
  registry: Registry
  store: Store
  limits: Limits
  guards: readonly Guard[]
  cache: ResultCache
  sealer: Sealer
  work: WorkerSettings
}

const MAX_DEPTH = 16

export class Engine {
  readonly registry: Registry
  readonly worker: Worker
  readonly approvals: Approvals
  readonly #parts: EngineParts
  readonly #deciders: readonly Guard[]
  readonly #decidersOf = new WeakMap<Operation, readonly Guard[]>()
  readonly #recorder: Recorder
  readonly #inline: InlineRunner
  readonly #toldOf = new WeakSet<Fault>()
  #draining = false
  #lastCaller: Caller | undefined
  #lastOwner = ''

  constructor(given: EngineParts) {
    const { env, registry, store, limits, observer } = given
    const parts = observer ? { ...given, observer: harmless(observer, env.log) } : given
    const attempts: AttemptParts = { ...parts, callChild: (...child) => this.#callChild(...child) }
    this.registry = registry
    this.approvals = new Approvals(env, store, limits.rules.pendingApprovalsPerCaller)
    const held = new HeldCalls(this.approvals, parts.guards, env.log)
    const secrets = new CallSecrets(store, parts.sealer, env.log)
    this.worker = new Worker(registry, store, limits, attempts, parts.work, held, secrets)
    this.#parts = parts
    this.#deciders = parts.guards.filter((guard) => guard.decide)
    this.#recorder = new Recorder(env, store, parts.objects, limits, this.worker, this.approvals, secrets)
    this.#inline = new InlineRunner(attempts, limits, this.#recorder, this.worker, parts.cache, store.audit)
  }

  /** Accepts no more calls. Running calls continue, including the calls that their handlers make. */
  drain(): void {
    this.#draining = true
  }

  get draining(): boolean {
    return this.#draining
  }

  /**
   * Runs or records one call. Throws a fault if the call is refused. The reply has the state of the call. A promise is
   * created only if the engine has to wait: a dozen unneeded promises took a tenth of the time of a small call.
   */
  call(call: Call, identify: Identify, options: RunOptions = {}): Reply | Promise<Reply> {
    if (call.uploads !== undefined) return this.#callWithUploads(call, call.uploads, identify, options)
    return this.#call(call, identify, options)
  }

  async #callWithUploads(call: Call, uploads: string, identify: Identify, options: RunOptions): Promise<Reply> {
    try {
      return await this.#call(call, identify, options)
    } finally {
      await this.#dropUnusedUploads(uploads)
    }
  }

  #call(call: Call, identify: Identify, options: RunOptions): Reply | Promise<Reply> {
    const operation = this.registry.resolve(call.operation, this.#parts.env.clock.now())
    const admitting = this.#admit(operation, identify)
    if (admitting instanceof Promise) return admitting.then((caller) => this.#callAs(caller, operation, call, options))
    return this.#callAs(admitting, operation, call, options)
  }

  #callAs(caller: Caller, operation: Operation, call: Call, options: RunOptions): Reply | Promise<Reply> {
    if (this.#draining) throw shuttingDown()
    const counting = options.ours ? undefined : this.#parts.limits.countCall(this.#ownerOf(caller))
    if (counting) return counting.then(() => this.#callCounted(caller, operation, call, options))
    return this.#callCounted(caller, operation, call, options)
  }

  /** Caches the owner string of the last caller, because building and hashing a new string for every call is slow. */
  #ownerOf(caller: Caller): string {
    if (caller !== this.#lastCaller) {
      this.#lastCaller = caller
      this.#lastOwner = ownerOf(caller)
    }
    return this.#lastOwner
  }

  #callCounted(caller: Caller, operation: Operation, call: Call, options: RunOptions): Reply | Promise<Reply> {
    const actor = options.given ? personOf(caller, options.given) : caller
    const validating = this.#validate(operation, actor, call, options)
    if (validating instanceof Promise) return validating.then((admitted) => this.#run(admitted, options))
    return this.#run(validating, options)
  }

  /** Checks that this caller may call this operation, for protocols that must know before they read the body. */
  async admit(name: string, identify: Identify): Promise<Operation> {
    const operation = this.registry.resolve(name, this.#parts.env.clock.now())
    await this.#admit(operation, identify)
    if (this.#draining) throw shuttingDown()
    return operation
  }

  /** The id of a future call. Its uploads are stored under this id. */
  async newCallId(identify: Identify): Promise<string> {
    const caller = await identifyOrNobody(identify)
    return this.#parts.env.newCallId(caller.tenant, ownerOf(caller))
  }

  /**
   * Counts a request that makes no call but costs as much as one. Without a valid credential it counts as anonymous.
   */
  async count(identify: Identify): Promise<void> {
    const caller = await identifyOrNobody(identify)
    await this.#parts.limits.countCall(ownerOf(caller))
  }

  #admit(operation: Operation, identify: Identify): Caller | Promise<Caller> {
    const identified = identify()
    if (identified instanceof Promise) return identified.then((caller) => this.#admitCaller(operation, caller))
    return this.#admitCaller(operation, identified)
  }

  #admitCaller(operation: Operation, identified: Caller | undefined): Caller | Promise<Caller> {
    const caller = identified ?? (operation.public ? ANONYMOUS : undefined)
    if (!caller) throw new Fault('unauthenticated', `${operation.name.full} needs authentication. Send a credential.`)
    const objections = admitAll(this.#parts.guards, caller, operation)
    return objections ? objections.then(() => caller) : caller
  }

  #validate(operation: Operation, caller: Caller, call: Call, options: RunOptions): Admitted | Promise<Admitted> {
    const parsed = operation.parseArgs(call.args)
    const needsMore = parsed instanceof Promise || call.media.length + operation.media.length > 0
    if (needsMore) return this.#validateFurther(operation, caller, call, options, parsed)
    return this.#decide(operation, caller, call, parsed, call.media, options)
  }

  async #validateFurther(
    operation: Operation,
    caller: Caller,
    call: Call,
    options: RunOptions,
    parsing: unknown,
  ): Promise<Admitted> {
    const parsed = await parsing
    const media = await checkMedia(operation, call.media, this.#parts.fetcher, () => (options.client ?? STAYS).signal)
    return this.#decide(operation, caller, call, parsed, media, options)
  }

  #decide(
    operation: Operation,
    caller: Caller,
    call: Call,
    parsed: unknown,
    media: readonly MediaInput[],
    { freezes = false, hold = false, given }: RunOptions,
  ): Admitted | Promise<Admitted> {
    if (operation.idempotencyRequired && call.idempotencyKey === undefined) {
      const message = `${operation.name.full} has side effects. Send an idempotency key, so that a repeat does not run it again.`
      throw new Fault('invalid-input', message, { code: 'IDEMPOTENCY_KEY_REQUIRED' })
    }
    const deciders = this.#concerned(operation)
    const decided =
      deciders.length > 0 ? decideAll(deciders, { caller, operation, args: call.args, parsed }) : undefined
    const keyed = freezes || call.idempotencyKey === undefined || isKeyed(operation)
    const owner = this.#ownerOf(caller)
    const admitted: Admitted = {
      id: call.uploads ?? this.#parts.env.newCallId(caller.tenant, owner),
      call: keyed ? call : withoutKey(call),
      operation,
      caller,
      tenant: caller.tenant,
      owner,
      parsed,
      media,
    }
    if (given) admitted.given = given
    if (!decided && !operation.requires) return admitted
    return this.#rule(admitted, decided, hold)
  }

  /** The guards that may have an opinion about this operation. Most operations have none. */
  #concerned(operation: Operation): readonly Guard[] {
    const known = this.#decidersOf.get(operation)
    if (known) return known
    const concerned = this.#deciders.filter((guard) => guard.concerns?.(operation) ?? true)
    this.#decidersOf.set(operation, concerned)
    return concerned
  }

  /** Applies the guards' decision and checks the operation's requirements. */
  async #rule(
    admitted: Admitted,
    decided: Decision | undefined | Promise<Decision | undefined>,
    hold: boolean,
  ): Promise<Admitted> {
    const { operation, caller, given = NOTHING_GIVEN } = admitted
    const decision = await decided
    if (decision?.verdict === 'deny') {
      throw await this.#accountForRefusal(admitted, decision, denied(operation, decision))
    }
    if (operation.requires) {
      await checkRequirements(operation, caller, given, this.#parts.authorizations)
      checkAnswers(operation, admitted.call.asking, this.#parts.env)
    }
    if (!decision) return admitted
    return decision.verdict === 'hold' ? this.#askApproval(admitted, decision, hold) : { ...admitted, decision }
  }

  /** A refusal is in the audit trail before the caller gets it. */
  async #accountForRefusal(admitted: Admitted, decision: Decision, why: Fault): Promise<Fault> {
    const { env, store, observer } = this.#parts
    const { operation, call } = admitted
    const entry = auditRefusal(env, admitted, decision, why)
    await store.audit.append(entry)
    const trace = call.traceparent !== undefined && { traceparent: call.traceparent }
    if (observer?.executed) {
      observer.executed(operation, { entry, outcome: faultOutcome(why), ...trace })
      this.#toldOf.add(why)
    }
    return why
  }

  /** True if this refusal was reported to the observer as the end of an execution. */
  hasToldOf(refusal: Fault): boolean {
    return this.#toldOf.has(refusal)
  }

  /**
   * Uses an earlier approval if there is one. Otherwise the call waits for an approval, or is refused until there is
   * one.
   */
  async #askApproval(admitted: Admitted, decision: Decision, hold: boolean, tries = 1): Promise<Admitted> {
    try {
      if (tries > MOST_TRIES) throw contended()
      const request = approvalRequest(this.#parts.env, admitted, decision)
      const key = admitted.call.idempotencyKey
      const grant = hold ? await this.approvals.unused(request) : await this.approvals.use(request, key)
      if (!grant) return { ...admitted, decision, held: true }
      const askAgain = () => this.#askApproval(admitted, decision, hold, tries + 1)
      return { ...admitted, decision, grant, askAgain }
    } catch (thrown) {
      throw await this.#accountForRefusal(admitted, decision, Fault.from(thrown))
    }
  }

  #run(admitted: Admitted, options: RunOptions): Reply | Promise<Reply> {
    const { operation, call } = admitted
    const leavesTraces = operation.model === 'async' || operation.sideEffecting || operation.ttlSeconds > 0
    const waits = operation.backend.durable === true || admitted.held === true
    const recorded = leavesTraces || waits || call.idempotencyKey !== undefined || options.durable === true
    if (recorded) return this.#recorder.record(admitted, options)
    return admitted.grant ? this.#runGranted(admitted, admitted.grant, options) : this.#inline.run(admitted, options)
  }

  /** An unrecorded call uses its approval before it runs. Otherwise it could run twice. */
  async #runGranted(admitted: Admitted, grant: Grant, options: RunOptions): Promise<Reply> {
    if (await this.approvals.spend(grant)) return this.#inline.run(admitted, options)
    const again = await (admitted.askAgain as () => Promise<Admitted>)()
    return this.#run(again, options)
  }

  /** A handler calls another operation, with the same caller and session, and waits for the outcome. */
  async #callChild(
    parent: Job,
    position: number,
    name: string,
    args: unknown,
    options: ChildOptions,
    signal: AbortSignal,
    begun: () => void,
  ): Promise<unknown> {
    const { registry, env } = this.#parts
    const lineage = lineageBelow(parent, name)
    const operation = registry.resolve(name, env.clock.now())
    const call: Call = {
      operation: name,
      args: asJson(args ?? {}),
      media: [],
      requestId: env.newId(),
      lineage,
      ...askingBelow(parent),
      // Derived from the parent's id, so that a second attempt of the parent joins the child call of the first one.
      ...(isKeyed(operation) && { idempotencyKey: options.idempotencyKey ?? `${parent.id}.${position}` }),
    }
    correlate(call, { ...parent, ...options, parentId: parent.requestId })
    const caller = await this.#admit(operation, () => parent.caller)
    // Child calls can use the secrets of their parent. They are not held for an approval, because the parent would keep
    // its slot, and its time would run, until a person decides.
    const given = parent.given && { given: parent.given }
    const admitted = await this.#validate(operation, caller, call, { hold: false, ...given })
    begun()
    const running = this.#run(admitted, { holdMs: OVERRUN_RETENTION_MS, child: true, client: { signal } })
    const ended = Promise.resolve(running).then((reply) => this.#untilEnded(admitted, reply))
    return resultOf(await this.#unlessStopped(ended, admitted, signal))
  }

  /** Stops waiting when the parent is stopped. If the parent is canceled, its child is canceled too. */
  async #unlessStopped(ended: Promise<Reply>, child: Admitted, signal: AbortSignal): Promise<Reply> {
    const { env } = this.#parts
    let stop = () => {}
    const stopped = new Promise<never>((_, reject) => {
      stop = () => {
        const why = signal.reason
        if (why instanceof Fault && why.kind === 'canceled') {
          this.#stopChild(child, why).catch((err) => env.log.warn({ err }, 'could not stop a child call'))
        }
        reject(why)
      }
    })
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await Promise.race([ended, stopped])
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /**
   * Looks the child up by its request id, because a second attempt of the parent may have joined the child of the first
   * one.
   */
  async #stopChild({ id, caller, owner, call }: Admitted, why: Fault): Promise<void> {
    const { store } = this.#parts
    const found = await store.find(caller.tenant, owner, call.requestId)
    const child = found?.id ?? id
    if (this.worker.stopAttempt(child, why)) return
    await store.requestStop(child)
    this.worker.stopAnywhere(child, why)
  }

  async #untilEnded({ caller, owner, call }: Admitted, reply: Reply): Promise<Reply> {
    if (reply.state === 'complete' || reply.state === 'error') return reply
    const { store } = this.#parts
    const found = await store.find(caller.tenant, owner, call.requestId)
    if (!found) throw new Fault('timeout', `${call.operation} expired before it ended.`)
    const watching = watchFor(store, found.id, hasEnded)
    try {
      const current = await store.get(found.id)
      return replyTo(current && hasEnded(current) ? current : await watching.found, 0)
    } finally {
      watching.stop()
    }
  }

  /**
   * Removes uploads whose call was not recorded. They are stored under the id of that call, and nothing else refers to
   * them.
   */
  async #dropUnusedUploads(id: string): Promise<void> {
    const { store, objects } = this.#parts
    try {
      if (!(await store.get(id))) await objects.removeOwner(id)
    } catch (thrown) {
      // A failure does not change the reply. The sweep removes the bytes later.
      this.#parts.env.log.warn({ err: thrown }, 'could not remove uploads')
    }
  }
}

/** The ancestors of a child call. Throws a fault if the calls are nested too deeply. */
export function lineageBelow(parent: Job, name: string): readonly string[] {
  const lineage = [...parent.lineage, parent.operation.key]
  if (lineage.length <= MAX_DEPTH) return lineage
  const message = `Operations call each other more than ${MAX_DEPTH} deep: ${lineage.join(' → ')} → ${name}.`
  throw new Fault('internal', message, { code: 'CALL_TOO_DEEP' })
}

/** The caller, or the anonymous caller if there is no valid credential. */
async function identifyOrNobody(identify: Identify): Promise<Caller> {
  try {
    return (await identify()) ?? ANONYMOUS
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'unauthenticated') return ANONYMOUS
    throw thrown
  }
}

/** A parent ends with the questions of its child, and both run again with the answers. */
function askingBelow({ asking }: Job): Pick<Call, 'asking'> {
  return asking ? { asking: { kinds: asking.kinds, answers: asking.answers } } : {}
}

function shuttingDown(): Fault {
  return new Fault('unavailable', 'The server is shutting down. Try again in a moment.', {
    code: 'SHUTTING_DOWN',
    retryAfterMs: 1_000,
  })
}

/** Converts a value as a wire would: a Date becomes a string, not an empty object. */
function asJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value))
}

function resultOf(reply: Reply): unknown {
  if (reply.state === 'error') throw reply.fault
  if ('result' in reply) return reply.result
  return 'location' in reply ? reply.location : undefined
}

function withoutKey({ idempotencyKey: _, ...call }: Call): Call {
  return call
}

/** Asks the guards in order. Returns a promise only if a guard does. */
function admitAll(guards: readonly Guard[], caller: Caller, operation: Operation, from = 0): Promise<void> | undefined {
  for (let at = from; at < guards.length; at++) {
    const answer = (guards[at] as Guard).admit?.(caller, operation)
    if (answer instanceof Promise) return answer.then(() => admitAll(guards, caller, operation, at + 1))
  }
  return undefined
}

/** A client that never leaves. */
const STAYS = {
  get signal() {
    return new AbortController().signal
  },
}
