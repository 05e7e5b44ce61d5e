/** Requests about an existing call: poll, wait, watch, cancel, fetch. Only the owner of an instance can find it. */

import { type Caller, ownerOf } from '../../core/call/caller.ts'
import type { Instance, Progress } from '../../core/call/instance.ts'
import type { Answers, Questions } from '../../core/call/questions.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import type { ChunkReply, FoundObject, Wait } from '../../core/ports/calls.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { within } from '../../core/within.ts'
import { chunksId } from '../attempt/chunk-pieces.ts'
import { canceled } from '../end/end-faults.ts'
import { replyTo } from '../end/replies.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import { streamsIn } from '../stream/stream-sessions.ts'
import { Answering } from '../wait/question-answers.ts'
import { hasEnded, isUntold, tellOf, watchFor } from './waiting.ts'

export interface FollowUpParts {
  env: Environment
  registry: Registry
  store: Store
  objects: ObjectStore
  limits: Limits
  worker: Worker
  /**
   * How long a cancel request waits for the end of the call. After that, the reply says that the call is still being
   * canceled.
   */
  cancelWaitMs: number
}

const NO_WAIT: Wait = { waitMs: 0 }

/** How long the address of an object at its store works: enough to start a download. */
const LINK_MS = 300_000

export class FollowUp {
  readonly #parts: FollowUpParts
  readonly #answering: Answering

  constructor(parts: FollowUpParts) {
    this.#parts = parts
    this.#answering = new Answering(parts.env, parts.store)
  }

  /**
   * The current state of the call. With `waitMs`, returns when the state changes, the time is over or the client
   * leaves.
   */
  async poll(caller: Caller, requestId: string, { waitMs, client }: Wait = NO_WAIT): Promise<Reply> {
    const { limits } = this.#parts
    const instance = await this.#find(caller, requestId)
    await limits.rates.countPoll(instance, requestId)
    if (waitMs <= 0 || hasEnded(instance)) return replyTo(instance, 0)
    const changed = (next: Instance) => next.state !== instance.state
    return replyTo(await this.#after(instance, waitMs, changed, async () => {}, client), 0)
  }

  /**
   * Waits for the end of a call. Returns the current state if that takes longer or the client leaves. Not counted as a
   * poll.
   */
  async untilEnd(caller: Caller, requestId: string, { waitMs, client }: Wait): Promise<Reply> {
    const instance = await this.#find(caller, requestId)
    if (waitMs <= 0 || hasEnded(instance)) return replyTo(instance, 0)
    return replyTo(await this.#after(instance, waitMs, hasEnded, async () => {}, client), 0)
  }

  /**
   * Runs `act` on an unended call, then waits until the call is as `wanted`. The result has the request id of the
   * request.
   */
  async #after(
    seen: Instance,
    waitMs: number,
    wanted: (instance: Instance) => boolean,
    act: () => Promise<void>,
    client?: Wait['client'],
  ): Promise<Instance> {
    const { store, env } = this.#parts
    const watching = watchFor(store, seen.id, wanted)
    try {
      await act()
      const current = await store.get(seen.id)
      const latest =
        current && wanted(current) ? current : await within(env.clock, waitMs, orGone(watching.found, client))
      return { ...seen, state: latest?.state ?? current?.state ?? seen.state, ...latestOf(latest ?? current ?? seen) }
    } finally {
      watching.stop()
    }
  }

  /**
   * The current state and every change that a caller can see, until the call ends or the signal aborts. Changes of
   * leases, back-offs and claims are not visible to callers.
   */
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
      let told: Progress | undefined
      let last = ''
      for (let revision = -1; !signal.aborted; ) {
        if (current.revision > revision) {
          // The last progress and the end may arrive together. The watcher must see both.
          const { progress } = current
          if (revision >= 0 && hasEnded(current) && progress && !isSame(progress, told))
            yield replyTo({ ...first, state: 'pending', progress }, 0)
          revision = current.revision
          told = progress
          const reply = replyTo({ ...first, state: current.state, ...latestOf(current) }, 0)
          const text = JSON.stringify(reply)
          if (text !== last) yield reply
          last = text
          if (hasEnded(current)) return
        }
        if (!latest && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve))
        current = latest ?? current
        latest = undefined
      }
    } finally {
      stop()
      signal.removeEventListener('abort', aborted)
    }
  }

  /** The unanswered questions of a call. `undefined` if there are none. */
  async questions(caller: Caller, requestId: string): Promise<Questions | undefined> {
    const instance = await this.#find(caller, requestId)
    if (hasEnded(instance)) return undefined
    const open = await this.#answering.open(instance)
    // All answers are stored, but the request that brought the last one was interrupted before it woke the call.
    if (!open && (await this.#answering.take(instance, {}))) this.#parts.worker.wake()
    return open
  }

  /** Stores answers. The call continues once the last question is answered. */
  async answer(caller: Caller, requestId: string, answers: Answers): Promise<void> {
    const instance = await this.#find(caller, requestId)
    if (!hasEnded(instance) && (await this.#answering.take(instance, answers))) this.#parts.worker.wake()
  }

  /** Cancels a call. A call that has ended does not change. The reply says which of the two happened. */
  async cancel(caller: Caller, requestId: string): Promise<Reply> {
    const instance = await this.#find(caller, requestId)
    if (hasEnded(instance)) return replyTo(instance, 0)
    const ended = (next: Instance) => {
      // The node that had the call has given it back, and it may be long until one has a slot for it.
      if (isUnrun(next)) void this.#endUnrun(next)
      return hasEnded(next)
    }
    return replyTo(await this.#after(instance, this.#parts.cancelWaitMs, ended, () => this.stop(instance)), 0)
  }

  async #endUnrun(instance: Instance): Promise<void> {
    const { env, worker } = this.#parts
    try {
      await worker.endUnrun(instance, canceled())
    } catch (err) {
      env.log.warn({ err, operation: instance.operation }, 'could not end a canceled call; its next worker ends it')
    }
  }

  /** Cancels a call for the request that started it. A call that the request joined by a key continues. */
  async callOff(caller: Caller, requestId: string): Promise<void> {
    const { id } = await this.#find(caller, requestId)
    const stored = await this.#parts.store.get(id)
    if (stored?.requestId === requestId) await this.cancel(caller, requestId)
  }

  /** Ends a stream, and returns its request id. A stream that has ended stays as it is. */
  async unsubscribe(caller: Caller, requestId: string): Promise<string[]> {
    const instance = await this.#find(caller, requestId)
    if (instance.model !== 'stream') {
      const message = `The call "${requestId}" is not a stream. Cancel it to stop it.`
      throw new Fault('invalid-input', message, { code: 'NOT_A_STREAM' })
    }
    await this.cancel(caller, requestId)
    return [requestId]
  }

  /** Ends all streams of this caller in a session. */
  async unsubscribeSession(caller: Caller, sessionId: string): Promise<string[]> {
    const { env, store } = this.#parts
    const who = { tenant: caller.tenant, owner: ownerOf(caller) }
    const found = await streamsIn(env, store.records, who, sessionId)
    await Promise.all(found.map((requestId) => this.cancel(caller, requestId)))
    return [...found]
  }

  /** Ends a call, or asks the node that runs it to stop it. Does not wait for the end. */
  async stop(instance: Instance): Promise<void> {
    const { store, worker } = this.#parts
    if (worker.stopAttempt(instance.id, canceled())) return
    if (isUnrun(instance) && (await worker.endUnrun(instance, canceled()))) return
    await store.requestStop(instance.id)
    // Without this, the process that runs the call, which may be this one by now, would learn of it at the next lease
    // renewal.
    worker.stopAnywhere(instance.id, canceled())
  }

  /**
   * The chunk at a position, or none while the call is still producing it. `position` is called last, so that a call
   * that does not exist is `not-found` even if the cursor is malformed.
   */
  async chunk(caller: Caller, requestId: string, position: () => number): Promise<ChunkReply> {
    const { objects, registry } = this.#parts
    const instance = await this.#find(caller, requestId)
    const info = await objects.chunks(chunksId(instance.id))
    // The stored chunks decide. The registry may have changed since, so it decides only for a call without stored
    // chunks.
    const { chunked } = registry.byKey(instance.operation) ?? {}
    const mimeType = info?.mimeType ?? chunked?.mimeType
    if (!info && !chunked)
      throw new Fault('not-found', 'The result of this call is not chunked. Poll the call to get it.')
    const index = position()
    if (index > (info ? info.count - (info.finished ? 1 : 0) : 0)) {
      throw new Fault('malformed', 'This cursor is past the last chunk. Start again without a cursor.', {
        code: 'INVALID_CURSOR',
      })
    }
    const chunk = info && (await objects.chunk(chunksId(instance.id), index))
    if (!chunk && instance.outcome?.kind === 'fault') throw Fault.fromRecord(instance.outcome.fault)
    const { sessionId } = instance
    return {
      requestId,
      ...(mimeType !== undefined && { mimeType }),
      ...(sessionId !== undefined && { sessionId }),
      ...(chunk && { chunk }),
      ...(info?.finished && { totalBytes: info.bytes }),
    }
  }

  /** The part of a call that a refusal repeats. `undefined` if this caller has no such call. */
  async known(caller: Caller, requestId: string): Promise<Pick<Instance, 'sessionId'> | undefined> {
    return this.#parts.store.find(caller.tenant, ownerOf(caller), requestId)
  }

  /** An object of this caller. Without a caller: for the holder of a link that this server signed. */
  async object(caller: Caller | undefined, objectId: string): Promise<FoundObject> {
    const { store, objects, env } = this.#parts
    const instance = await store.get(objectId.slice(0, objectId.indexOf('/')))
    // Visible as long as the bytes are kept: a repeat with the same key may have received the link later than the first
    // call.
    const visible = instance && instance.keepUntil > env.clock.now() && isResult(instance, objectId)
    const allowed = visible && (!caller || (instance.tenant === caller.tenant && instance.owner === ownerOf(caller)))
    if (!allowed) throw noSuchObject()
    const linkMs = Math.min(LINK_MS, instance.keepUntil - env.clock.now())
    // Only now, because such an address works for everyone who has it.
    const [info, link] = await Promise.all([
      objects.info(objectId),
      wantsLink(instance) ? objects.link?.(objectId, linkMs) : undefined,
    ])
    if (!info) throw noSuchObject()
    return { info, read: (range) => objects.read(objectId, range), ...(link !== undefined && { link }) }
  }

  async #find(caller: Caller, requestId: string): Promise<Instance> {
    const { store } = this.#parts
    const instance = await store.find(caller.tenant, ownerOf(caller), requestId)
    const now = instance && !hasEnded(instance) && isUntold(instance) ? await tellOf(store, instance) : instance
    if (instance && now) return hasEnded(now) ? { ...instance, state: now.state, ...latestOf(now) } : instance
    throw new Fault('not-found', `You have no call "${requestId}", or it has expired.`)
  }
}

/** No node runs the call: all attempts are settled, or a stream waits for its reader. It can be ended by any node. */
function isUnrun(instance: Instance): boolean {
  const { attempt, settled, extras } = instance
  return !hasEnded(instance) && (attempt === settled || extras?.stream?.awaited === true)
}

function noSuchObject(): Fault {
  return new Fault('not-found', 'There is no such object, or it has expired.')
}

function wantsLink({ outcome }: Instance): boolean {
  return outcome?.kind === 'location' && outcome.location.kind === 'object' && outcome.location.direct === true
}

/** Also resolves when the client leaves, with `undefined`. */
function orGone(found: Promise<Instance>, client: Wait['client']): Promise<Instance | undefined> {
  if (!client) return found
  const { signal } = client
  const gone = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  return Promise.race([found, gone])
}

/** The fields that change during a call, without those that an alias has of its own. */
function latestOf(instance: Instance): Pick<Instance, 'outcome' | 'progress' | 'failures' | 'endedAt' | 'extras'> {
  const { outcome, progress, failures, endedAt, extras } = instance
  return {
    failures,
    ...(outcome && { outcome }),
    ...(progress && { progress }),
    ...(endedAt !== undefined && { endedAt }),
    ...(extras && { extras }),
  }
}

function isSame(progress: Progress, told: Progress | undefined): boolean {
  return progress.fraction === told?.fraction && progress.message === told.message && progress.attempt === told.attempt
}

/**
 * Attachments and the bytes of earlier attempts have the same owner id. Callers may read only the object in the
 * outcome.
 */
function isResult({ outcome }: Instance, objectId: string): boolean {
  return outcome?.kind === 'location' && outcome.location.kind === 'object' && outcome.location.objectId === objectId
}
