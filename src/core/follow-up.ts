/** What a caller does after the call: look, wait, watch, cancel, fetch. Only the owner of an instance ever finds it. */
import { chunksId } from './attempt.ts'
import { Fault } from './fault.ts'
import type { Limits } from './limits.ts'
import { type Caller, type Instance, ownerOf, type Reply } from './model.ts'
import type { Chunk, Environment, ObjectInfo, ObjectStore, Store } from './ports.ts'
import type { Registry } from './registry.ts'
import { replyTo } from './replies.ts'
import { statesBefore } from './state.ts'
import { hasEnded, watchFor, within } from './waiting.ts'
import { canceled, type Worker } from './worker.ts'

export interface FollowUpParts {
  env: Environment
  registry: Registry
  store: Store
  objects: ObjectStore
  limits: Limits
  worker: Worker
  /** How long a cancel is waited for before the answer says that it is under way. */
  cancelWaitMs: number
}

export interface ChunkReply {
  requestId: string
  sessionId?: string
  mimeType: string
  /** Absent while the next chunk is still being made. */
  chunk?: Chunk
  totalBytes?: number
}

export class FollowUp {
  readonly #parts: FollowUpParts

  constructor(parts: FollowUpParts) {
    this.#parts = parts
  }

  /** The call as it stands; with `waitMs`, once its state has changed or the time is over. */
  async poll(caller: Caller, requestId: string, waitMs = 0): Promise<Reply> {
    const { store, env, limits } = this.#parts
    const instance = await this.#find(caller, requestId)
    limits.countPoll(ownerOf(caller), requestId)
    if (waitMs <= 0 || hasEnded(instance)) return replyTo(instance, 0)
    const watching = watchFor(store, instance.id, (next) => next.state !== instance.state)
    try {
      const current = await this.#find(caller, requestId)
      if (current.state === instance.state) await within(env.clock, waitMs, watching.found)
    } finally {
      watching.stop()
    }
    return replyTo(await this.#find(caller, requestId), 0)
  }

  /** Every change from now on, the present state first, until the call has ended or the signal aborts. */
  async *watch(caller: Caller, requestId: string, signal: AbortSignal): AsyncIterable<Reply> {
    const { store } = this.#parts
    const first = await this.#find(caller, requestId)
    let latest: Instance | undefined
    let wake = () => {}
    const stop = store.watch(first.id, (instance) => {
      latest = instance
      wake()
    })
    const aborted = () => wake()
    signal.addEventListener('abort', aborted, { once: true })
    try {
      let current = (await store.get(first.id)) ?? first
      for (let revision = -1; !signal.aborted; ) {
        if (current.revision > revision) {
          revision = current.revision
          yield replyTo({ ...first, state: current.state, ...latestOf(current) }, 0)
          if (hasEnded(current)) return
        }
        if (!latest) await new Promise<void>((resolve) => (wake = resolve))
        current = latest ?? current
        latest = undefined
      }
    } finally {
      stop()
      signal.removeEventListener('abort', aborted)
    }
  }

  /** Stops a call. What has ended stays as it ended; the reply says which it was. */
  async cancel(caller: Caller, requestId: string): Promise<Reply> {
    const { store, env, worker, cancelWaitMs } = this.#parts
    const instance = await this.#find(caller, requestId)
    if (hasEnded(instance)) return replyTo(instance, 0)
    const watching = watchFor(store, instance.id, hasEnded)
    try {
      await this.#stop(instance, worker)
      await within(env.clock, cancelWaitMs, watching.found)
    } finally {
      watching.stop()
    }
    return replyTo(await this.#find(caller, requestId), 0)
  }

  async #stop(instance: Instance, worker: Worker): Promise<void> {
    if (worker.stopAttempt(instance.id, canceled())) return
    const { store } = this.#parts
    // Every attempt is accounted for, so nobody runs it now: it can be ended right here.
    if (instance.attempt === instance.settled) {
      const ended = await store.advance({
        id: instance.id,
        from: statesBefore('error'),
        to: 'error',
        attempt: instance.attempt,
        outcome: { kind: 'fault', fault: canceled().toRecord() },
        releaseKey: instance.attempt === 0,
      })
      if (ended.applied) {
        this.#parts.limits.closed(instance.owner)
        if (instance.attempt === 0) this.#parts.limits.dequeued()
        return
      }
    }
    await store.requestStop(instance.id)
    // This node may have taken it up meanwhile, and would hear of the request only with its next renewal.
    worker.stopAttempt(instance.id, canceled())
  }

  /** The chunk at a position, or nothing yet while the call is still making it. The position is asked for last: a call that is not there is not there, whatever the cursor. */
  async chunk(caller: Caller, requestId: string, position: () => number): Promise<ChunkReply> {
    const { objects, registry } = this.#parts
    const instance = await this.#find(caller, requestId)
    const chunked = registry.byKey(instance.operation)?.chunked
    if (!chunked) throw new Fault('not-found', 'The result of this call is not chunked; it is in the reply to a poll.')
    const index = position()
    const info = await objects.chunks(chunksId(instance.id))
    if (index > (info ? info.count - (info.finished ? 1 : 0) : 0)) {
      throw new Fault('malformed', 'This cursor is past the last chunk. Start again without one.', {
        code: 'INVALID_CURSOR',
      })
    }
    const chunk = info && (await objects.chunk(chunksId(instance.id), index))
    if (!chunk && instance.outcome?.kind === 'fault') throw Fault.fromRecord(instance.outcome.fault)
    const { sessionId } = instance
    return {
      requestId,
      mimeType: chunked.mimeType,
      ...(sessionId !== undefined && { sessionId }),
      ...(chunk && { chunk }),
      ...(info?.finished && { totalBytes: info.bytes }),
    }
  }

  /** An object of this caller; without one, of whoever holds a link signed by us. */
  async object(
    caller: Caller | undefined,
    objectId: string,
  ): Promise<{ info: ObjectInfo; read: (range?: { start: number; end: number }) => AsyncIterable<Uint8Array> }> {
    const { store, objects, env } = this.#parts
    const instance = await store.get(objectId.slice(0, objectId.indexOf('/')))
    const visible = instance && instance.expiresAt > env.clock.now() && isResult(instance, objectId)
    const allowed = visible && (!caller || (instance.tenant === caller.tenant && instance.owner === ownerOf(caller)))
    const info = allowed ? await objects.info(objectId) : undefined
    if (!info) throw new Fault('not-found', 'There is no such object, or it has expired.')
    return { info, read: (range) => objects.read(objectId, range) }
  }

  async #find(caller: Caller, requestId: string): Promise<Instance> {
    const instance = await this.#parts.store.find(caller.tenant, ownerOf(caller), requestId)
    if (instance) return instance
    throw new Fault('not-found', `There is no call "${requestId}" of yours, or it has expired.`)
  }
}

/** What changes during a call, without what an alias has of its own. */
function latestOf({ outcome, progress }: Instance): Pick<Instance, 'outcome' | 'progress'> {
  return { ...(outcome && { outcome }), ...(progress && { progress }) }
}

/** Attachments and leftovers of earlier attempts share the owner id; only what the outcome points at is for callers. */
function isResult({ outcome }: Instance, objectId: string): boolean {
  return outcome?.kind === 'location' && outcome.location.kind === 'object' && outcome.location.objectId === objectId
}
