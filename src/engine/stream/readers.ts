/**
 * Connects readers to streams: the first one starts the handler, a later one takes the place of the one before it. A
 * stream that runs in another process of this server is forwarded from there.
 */
import { type Caller, ownerOf } from '../../core/call/caller.ts'
import type { Instance, InstanceExtras } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { StreamReader } from '../../core/ports/frames.ts'
import type { Pipe, Pipes } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { beginStream } from '../end/transitions.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import { ForwardedChannel } from './forwarded-channel.ts'
import { Forwarding } from './forwarding.ts'
import { startingStream } from './stream-sessions.ts'
import type { Subscription } from './subscription.ts'
import type { Subscriptions } from './subscriptions.ts'
import { checkTicket, useTicket } from './tickets.ts'

export interface ReadersParts {
  env: Environment
  store: Store
  registry: Registry
  worker: Worker
  streams: Subscriptions
  pipes?: Pipes
}

/** Attaches the reader to the stream, which runs in this process. */
type Attach = (subscription: Subscription) => void

export class Readers {
  readonly #parts: ReadersParts
  readonly #forwarding: Forwarding
  /** Streams whose start is being written. Another reader of the same stream waits for that. */
  readonly #starting = new Map<string, Promise<void>>()

  constructor(parts: ReadersParts) {
    this.#parts = parts
    this.#forwarding = new Forwarding(parts.env)
    parts.pipes?.accept((id, pipe) => this.#accept(id, pipe))
  }

  /** Throws a fault if the reader may not read this stream, or if the stream has ended or cannot be reached. */
  async connect(reader: StreamReader, caller: Caller | undefined): Promise<void> {
    const { env, store } = this.#parts
    const { id, ticket, after } = reader
    const seen = await store.get(id)
    if (ticket !== undefined) await checkTicket(env, store.records, ticket, id)
    else if (!isOwner(seen, caller)) throw noStream()
    if (!seen?.extras?.stream) throw noStream()
    const { encoding, integrity } = seen.extras.stream
    const isOver = hasEnded(seen)
    if (isOver && (after === undefined || !integrity)) throw noStream()
    if (after !== undefined && !integrity) throw unnumbered()
    // Last, so that a refused connection does not use the ticket.
    if (ticket !== undefined) await useTicket(env, store.records, ticket)
    const stream = { id, requestId: seen.requestId, encoding, sealed: integrity !== undefined }
    const attach: Attach = (subscription) => subscription.attach(reader.open(stream), after)
    for (let starting = this.#starting.get(id); starting; starting = this.#starting.get(id)) await starting
    // Nothing may wait from here to the start: another reader would start the stream, too.
    const running = this.#parts.streams.resumable(id)
    if (running) return attach(running)
    if (!isOver && (await this.#start(seen, attach))) return
    const pipe = await this.#openPipe(seen)
    if (!pipe) throw isOver ? noStream() : elsewhere()
    await this.#forwarding.start(pipe, reader.open(stream), after)
  }

  /** Ends the connections of readers whose streams run elsewhere, for a shutdown. */
  stopForwarding(): void {
    this.#forwarding.stopAll()
  }

  /** Opens a pipe to the process that runs the stream. */
  async #openPipe(seen: Instance): Promise<Pipe | undefined> {
    const { pipes, store } = this.#parts
    if (!pipes) return undefined
    // Another process may have started the stream since it was `seen`.
    const at = seen.extras?.stream?.runsAt ?? (await store.get(seen.id))?.extras?.stream?.runsAt
    return at === undefined ? undefined : pipes.open(seen.id, at)
  }

  /** The other process has checked that its reader may read the stream. */
  async #accept(id: string, pipe: Pipe): Promise<boolean> {
    await this.#starting.get(id)
    const running = this.#parts.streams.resumable(id)
    if (running) new ForwardedChannel(pipe, (channel, after) => running.attach(channel, after))
    return running !== undefined
  }

  /** False if the stream runs in another process. */
  #start(seen: Instance, attach: Attach): Promise<boolean> {
    const starting = this.#startHere(seen, attach).finally(() => this.#starting.delete(seen.id))
    // A failed start is the failure of the reader that asked for it. The next one tries for itself.
    this.#starting.set(
      seen.id,
      starting.then(
        () => undefined,
        () => undefined,
      ),
    )
    return starting
  }

  /** Starts the handler on this node, if no other node has started it since the stream was `seen`. */
  async #startHere(seen: Instance, attach: Attach): Promise<boolean> {
    const { env, store, registry, worker, streams, pipes } = this.#parts
    const operation = registry.byKey(seen.operation)
    const { awaited, ...stream } = seen.extras?.stream ?? {}
    if (!awaited) return false
    if (!operation?.stream) throw noStream()
    const extras = { ...seen.extras, stream: { ...stream, ...(pipes && { runsAt: pipes.here }) } } as InstanceExtras
    const leasedUntil = env.clock.now() + worker.leaseMs
    const begun = await beginStream(store, seen, leasedUntil, extras, startingStream(seen))
    if (begun.recordsDiffer) return false
    if (!begun.applied || !begun.instance) throw noStream()
    streams.start(worker, begun.instance, operation, attach)
    return true
  }
}

function isOwner(instance: Instance | undefined, caller: Caller | undefined): boolean {
  return caller !== undefined && instance?.tenant === caller.tenant && instance.owner === ownerOf(caller)
}

function noStream(): Fault {
  return new Fault('not-found', 'You have no such stream, or it has ended. Subscribe again.')
}

function unnumbered(): Fault {
  const message = 'The frames of this stream have no numbers, so it cannot be resumed. Leave "after" out.'
  return new Fault('malformed', message, { code: 'STREAM_NOT_RESUMABLE' })
}

function elsewhere(): Fault {
  const message = 'The stream runs on another node of this server. Connect again to reach it, or subscribe again.'
  return new Fault('unavailable', message, { code: 'STREAM_ELSEWHERE', retryAfterMs: 100 })
}
