/**
 * The path of a call: resolve, admit, validate, decide, then either run it at once or record it for the worker. The
 * engine contains no protocol, no status code and no SQL.
 */

import type { Call } from '../core/call/call.ts'
import { ANONYMOUS, type Caller, ownerOf } from '../core/call/caller.ts'
import type { Reply } from '../core/call/reply.ts'
import { Fault } from '../core/fault.ts'
import type { Operation } from '../core/operation/operation.ts'
import { personOf } from '../core/operation/requirements.ts'
import type { ResultCache } from '../core/ports/cache.ts'
import type { StreamTransports } from '../core/ports/frames.ts'
import type { Guard, Identify } from '../core/ports/guard.ts'
import type { Pipes } from '../core/ports/peers.ts'
import type { Sealer } from '../core/ports/secrets.ts'
import type { Store } from '../core/ports/store.ts'
import { Admission } from './admit/admission.ts'
import type { Admitted } from './admit/admitted.ts'
import { Checking } from './admit/checking.ts'
import type { AttemptParts } from './attempt/job.ts'
import { ChildCalls } from './child-calls.ts'
import type { Limits } from './limits/limits.ts'
import { harmless } from './observing.ts'
import { OwedReplies } from './owed/owed-replies.ts'
import { Recorder, type RunOptions } from './record/recorder.ts'
import type { Registry } from './registry.ts'
import { Replaying } from './replay/replaying.ts'
import { InlineRunner } from './run/unrecorded.ts'
import { Worker, type WorkerSettings } from './run/worker.ts'
import { Readers } from './stream/readers.ts'
import { Subscribing } from './stream/subscribing.ts'
import { Subscriptions } from './stream/subscriptions.ts'
import { Approvals, type Grant } from './wait/approvals.ts'
import { CallSecrets } from './wait/call-secrets.ts'
import { HeldCalls } from './wait/held-calls.ts'

export interface EngineParts extends Omit<AttemptParts, 'callChild' | 'streams'> {
  /** Where streams can be read. Absent: nowhere. */
  transports?: StreamTransports
  /** To the other processes of this server, for readers whose stream runs in one of them. */
  pipes?: Pipes
  registry: Registry
  store: Store
  limits: Limits
  guards: readonly Guard[]
  cache: ResultCache
  sealer: Sealer
  work: WorkerSettings
}

export class Engine {
  readonly registry: Registry
  readonly worker: Worker
  readonly approvals: Approvals
  /** Foresees what a call would get, without making it. */
  readonly checking: Checking
  readonly replaying: Replaying
  readonly readers: Readers
  readonly owed: OwedReplies
  readonly #parts: EngineParts
  readonly #admission: Admission
  readonly #recorder: Recorder
  readonly #inline: InlineRunner
  readonly #subscribing: Subscribing
  readonly #streams: Subscriptions
  #draining = false

  constructor(given: EngineParts) {
    const { env, registry, store, limits, observer } = given
    const parts = observer ? { ...given, observer: harmless(observer, env.log) } : given
    const streams = new Subscriptions(env.clock, limits.streams)
    const attempts: AttemptParts = { ...parts, streams, callChild: (...child) => children.call(...child) }
    this.registry = registry
    this.approvals = new Approvals(env, store, limits.rules.pendingApprovalsPerCaller)
    const held = new HeldCalls(this.approvals, parts.guards, env.log)
    const secrets = new CallSecrets(store, parts.sealer, env.log)
    this.worker = new Worker(registry, store, limits, attempts, parts.work, held, secrets)
    this.#parts = parts
    this.#admission = new Admission(parts, this.approvals)
    this.checking = new Checking(parts, this.approvals)
    this.owed = new OwedReplies(env, store)
    this.#recorder = new Recorder(env, store, parts.objects, limits, this.worker, this.approvals, secrets, this.owed)
    this.#inline = new InlineRunner(attempts, limits, this.#recorder, this.worker, parts.cache, store.audit)
    this.#streams = streams
    const { pipes } = parts
    this.readers = new Readers({ env, store, registry, worker: this.worker, streams, ...(pipes && { pipes }) })
    this.#subscribing = new Subscribing({
      env,
      store,
      limits,
      worker: this.worker,
      recorder: this.#recorder,
      streams,
      transports: parts.transports ?? NO_TRANSPORTS,
      ...(pipes && { here: pipes.here }),
    })
    this.replaying = new Replaying({
      ...parts,
      admission: this.#admission,
      run: (admitted, options) => this.#run(admitted, options),
    })
    const children = new ChildCalls({
      registry,
      store,
      env,
      admission: this.#admission,
      worker: this.worker,
      run: (admitted, options) => this.#run(admitted, options),
    })
  }

  /**
   * Accepts no more calls. Running calls continue, including the calls that their handlers make. Streams end: their
   * readers subscribe again, and reach another server.
   */
  drain(): void {
    this.#draining = true
    const why = shuttingDown()
    this.#streams.stopAll(why, (id) => void this.worker.stopAttempt(id, why))
    this.readers.stopForwarding()
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
    const admitting = this.#admission.admit(operation, identify, call.operation)
    if (admitting instanceof Promise) return admitting.then((caller) => this.#callAs(caller, operation, call, options))
    return this.#callAs(admitting, operation, call, options)
  }

  #callAs(caller: Caller, operation: Operation, call: Call, options: RunOptions): Reply | Promise<Reply> {
    if (this.#draining) throw shuttingDown()
    const counting = options.ours
      ? undefined
      : this.#parts.limits.rates.countCall(caller.tenant, this.#admission.ownerOf(caller))
    if (counting) return counting.then(() => this.#callCounted(caller, operation, call, options))
    return this.#callCounted(caller, operation, call, options)
  }

  #callCounted(caller: Caller, operation: Operation, call: Call, options: RunOptions): Reply | Promise<Reply> {
    const actor = options.given ? personOf(caller, options.given) : caller
    if (operation.stream) return this.#subscribe(actor, operation, call, options)
    const validating = this.#admission.validate(operation, actor, call, options)
    if (validating instanceof Promise) return validating.then((admitted) => this.#run(admitted, options))
    return this.#run(validating, options)
  }

  /** The caller's wishes about the stream are taken out before the arguments are validated. */
  async #subscribe(caller: Caller, operation: Operation, sent: Call, options: RunOptions): Promise<Reply> {
    const read = options.stream?.(operation, sent, options.client?.origin ?? '')
    if (!read) throw notHere(operation)
    const admitted = await this.#admission.validate(operation, caller, read.call, options)
    return this.#subscribing.subscribe(admitted, read.wish, options)
  }

  /** Checks that this caller may call this operation, for protocols that must know before they read the body. */
  async admit(name: string, identify: Identify): Promise<Operation> {
    const operation = this.registry.resolve(name, this.#parts.env.clock.now())
    await this.#admission.admit(operation, identify, name)
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
    await this.#parts.limits.rates.countCall(caller.tenant, ownerOf(caller))
  }

  /** True if this refusal was reported to the observer as the end of an execution. */
  hasToldOf(refusal: Fault): boolean {
    return this.#admission.hasToldOf(refusal)
  }

  #run(admitted: Admitted, options: RunOptions): Reply | Promise<Reply> {
    const { operation, call } = admitted
    if (operation.stream) throw notHere(operation)
    const leavesTraces = operation.model === 'async' || operation.sideEffecting || operation.ttlSeconds > 0
    const waits = operation.backend.durable === true || admitted.held === true
    // If the same request arrives again, it would need a second approval.
    const isApprovedOnce = options.redelivers === true && admitted.grant !== undefined
    const recorded = leavesTraces || waits || call.idempotencyKey !== undefined || isApprovedOnce
    if (recorded) return this.#recorder.record(admitted, options)
    if (admitted.grant) return this.#runGranted(admitted, admitted.grant, options)
    return this.#inline.run(admitted, options)
  }

  /** An unrecorded call uses its approval before it runs. Otherwise it could run twice. */
  async #runGranted(admitted: Admitted, grant: Grant, options: RunOptions): Promise<Reply> {
    if (await this.approvals.spend(grant)) return this.#inline.run(admitted, options)
    const again = await (admitted.askAgain as () => Promise<Admitted>)()
    return this.#run(again, options)
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

const NO_TRANSPORTS: StreamTransports = { get: () => undefined, names: () => [] }

/** The caller, or the anonymous caller if there is no valid credential. */
async function identifyOrNobody(identify: Identify): Promise<Caller> {
  try {
    return (await identify()) ?? ANONYMOUS
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'unauthenticated') return ANONYMOUS
    throw thrown
  }
}

function notHere({ name }: Operation): Fault {
  const message = `${name.full} is a stream, and cannot be called here. Call it over OpenCALL, or over MCP with Tasks.`
  return new Fault('invalid-input', message, { code: 'STREAM_NOT_SUPPORTED' })
}

export function shuttingDown(): Fault {
  return new Fault('unavailable', 'The server is shutting down. Try again in a moment.', {
    code: 'SHUTTING_DOWN',
    retryAfterMs: 1_000,
  })
}
