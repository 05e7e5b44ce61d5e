/**
 * Calls over a connection of messages, which all calls share. A lost connection is opened again when a call needs it:
 * the client sends an unanswered call again with the same ids, and asks for the state of a followed one.
 */
import type { JsonObject } from '../../core/json.ts'
import { delayMs } from '../calling.ts'
import { CallFault } from '../fault.ts'
import { isEnvelope } from '../http/envelope.ts'
import { newId } from '../ids.ts'
import { isOver } from '../judge.ts'
import type { Envelope, OutgoingCall, TokenSource } from '../options.ts'
import { FrameQueue } from '../streams/queue.ts'
import type { Reading } from '../streams/reader.ts'
import type { StreamWay, StreamWays } from '../streams/ways.ts'
import { onAbort, systemClock } from '../time.ts'
import type { Received, Transport } from '../transport.ts'
import { Connection, type ConnectionSettings } from './connection.ts'
import { encodeCall, hasFiles, statusIn } from './envelopes.ts'
import type { OutgoingMessage } from './link.ts'
import { MessageFetcher } from './message-fetcher.ts'

export interface MessageSettings extends ConnectionSettings {
  token: string | TokenSource | undefined
  /** True if every message needs the token, because messages of many clients arrive together. */
  showsTokenAlways: boolean
  /**
   * True if silence means that the connection is dead. A broker keeps messages for a server that is away, so its silence
   * says nothing.
   */
  expectsAnswers: boolean
  /** True if the end of a stream can arrive before its last frames. */
  endCanOvertake: boolean
  /** Makes frames arrive, before a stream is asked for. */
  prepareStream?(sessionId: string | undefined): Promise<{ sessionId?: string; close?(): void }>
  /** For files, and for results at addresses. */
  http: Transport | undefined
}

/** How long nothing may come before the client asks. */
const ASK_AFTER_MS = 25_000
/** How long the response to such a question may take. */
const ANSWER_MS = 15_000
const NO_WAIT = 0
/** Asks for the state of a call. Any server answers it, also about a call that it does not know. */
const PROBE = 'v1:getOperation'

export class MessageTransport implements Transport {
  readonly fetcher: MessageFetcher
  readonly ways: StreamWays = (sessionId) => this.#prepareWays(sessionId)
  readonly #settings: MessageSettings
  #connecting: Promise<Connection> | undefined
  #current: Connection | undefined
  /** Consecutive connections that could not be opened. */
  #failures = 0
  #closed: CallFault | undefined

  constructor(settings: MessageSettings) {
    this.#settings = settings
    this.fetcher = new MessageFetcher(
      (operation, args, signal) => this.#askBuiltIn(operation, args, signal),
      settings.http?.fetcher,
    )
  }

  async send(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    if (hasFiles(call)) return this.#upload(call, signal)
    const envelope = await this.#ask(call, signal)
    return { envelope, status: statusIn(envelope), retryAfterMs: isOver(envelope) ? envelope.retryAfterMs : NO_WAIT }
  }

  async next(before: Envelope, signal: AbortSignal | undefined): Promise<Received> {
    const { requestId } = before
    const connection = await this.#connection(signal)
    if (!connection.isWatched(requestId)) return this.#follow(connection, requestId, signal)
    const patience = new AbortController()
    const cancel = systemClock.schedule(ASK_AFTER_MS, () => patience.abort())
    try {
      const limit = signal ? AbortSignal.any([signal, patience.signal]) : patience.signal
      const envelope = await connection.change(requestId, before, limit)
      if (isOver(envelope)) connection.forget(requestId)
      return { envelope, retryAfterMs: NO_WAIT }
    } catch (thrown) {
      if (!patience.signal.aborted || signal?.aborted) throw thrown
      return this.#follow(connection, requestId, signal)
    } finally {
      cancel()
    }
  }

  poll(requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    return this.#stateFrom(PROBE, { requestId }, signal)
  }

  cancel(requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    return this.#stateFrom('v1:cancelOperation', { requestId }, signal)
  }

  /** Ends early if the connection is lost. The client then goes on with `next`. */
  async *watch(requestId: string, signal: AbortSignal | undefined): AsyncGenerator<Envelope> {
    const connection = await this.#connection(signal)
    const states = new FrameQueue<Envelope>()
    const follow = async () => {
      let last = connection.stateOf(requestId)
      if (!last) last = (await this.#follow(connection, requestId, signal)).envelope
      for (;;) {
        void states.push(last)
        if (isOver(last)) return
        last = await connection.change(requestId, last, signal)
      }
    }
    follow().then(
      () => states.end(),
      (thrown) => states.end(signal?.aborted ? signal.reason : thrown instanceof CallFault ? undefined : thrown),
    )
    yield* states.read()
  }

  /** Of what goes over HTTP. */
  get closing(): AbortSignal | undefined {
    return this.#settings.http?.closing
  }

  close(): void {
    this.#closed ??= new CallFault('ABORTED', 'The client was closed. The call may still run.')
    this.#current?.end(this.#closed)
    this.#settings.http?.close()
  }

  async *#prepareWays(sessionId: string | undefined): AsyncGenerator<StreamWay> {
    const prepared = await this.#settings.prepareStream?.(sessionId)
    yield {
      wish: { encoding: ['json', 'binary'] },
      read: (_fetcher, reading) => this.#readFrames(reading),
      ...prepared,
    }
  }

  #upload(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    const { http } = this.#settings
    if (http) return http.send(call, signal)
    throw new CallFault(
      'NEEDS_HTTP',
      'Files are sent over HTTP. Give the transport the address of the server in "http", or send the address of the file.',
      { outcome: 'refused' },
    )
  }

  async #readFrames(reading: Reading) {
    const { place } = reading
    const connection = this.#current
    const inbox = connection?.inboxOf(place)
    // The connection on which the stream was announced is gone.
    if (!inbox) return { state: 'broken', refused: true } as const
    try {
      return await inbox.read(reading, this.#settings.endCanOvertake)
    } finally {
      connection?.leaveStream(place)
      if (inbox.requestId !== undefined) connection?.forget(inbox.requestId)
    }
  }

  /** Asks for the state now, and for every later one. */
  async #follow(connection: Connection, requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    await connection.listen(requestId)
    const received = await this.#stateFrom(PROBE, { requestId, watch: true }, signal)
    connection.watched(received.envelope)
    return { ...received, retryAfterMs: received.retryAfterMs ?? NO_WAIT }
  }

  /** A refusal of the question says nothing of the call, and keeps its status. */
  async #stateFrom(operation: string, args: JsonObject, signal: AbortSignal | undefined): Promise<Received> {
    const { state, error, retryAfterMs, result } = await this.#askBuiltIn(operation, args, signal)
    if (state === 'complete' && isEnvelope(result)) return { envelope: result }
    const envelope: Envelope = { requestId: String(args.requestId), state: 'error', ...(error && { error }) }
    return { envelope, status: statusIn(envelope) ?? 404, retryAfterMs }
  }

  #askBuiltIn(operation: string, args: JsonObject, signal: AbortSignal | undefined): Promise<Envelope> {
    const requestId = newId()
    return this.#ask({ operation, args, context: { requestId, idempotencyKey: requestId }, headers: {} }, signal)
  }

  async #ask(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Envelope> {
    const { token: source } = this.#settings
    const token = typeof source === 'function' ? await source() : source
    const envelope = await this.#askWith(call, token, signal)
    if (envelope.error?.code !== 'AUTH_REQUIRED' || token === undefined || typeof source !== 'function') return envelope
    const renewed = await source(token)
    return renewed === undefined || renewed === token ? envelope : this.#askWith(call, renewed, signal)
  }

  async #askWith(call: OutgoingCall, token: string | undefined, signal: AbortSignal | undefined): Promise<Envelope> {
    const connection = await this.#connection(signal)
    const isKnown = connection.shown === token && !this.#settings.showsTokenAlways
    connection.shown = token
    const text = encodeCall(call, isKnown ? undefined : token)
    const { operation, context } = call
    const message = { text, operation, requestId: context.requestId }
    const cancel = this.#whenSilent(connection, message)
    try {
      return await connection.ask(message, signal)
    } finally {
      cancel()
    }
  }

  /**
   * A connection can be dead without an end: after a long silence, a question that any server answers finds out. A broker
   * can lose a message with its memory: it is sent again, with the same ids.
   */
  #whenSilent(connection: Connection, message: OutgoingMessage): () => void {
    const { operation, requestId } = message
    const { expectsAnswers } = this.#settings
    if (expectsAnswers && operation === PROBE)
      return systemClock.schedule(ANSWER_MS, () => connection.lost('The server is silent.'))
    return systemClock.schedule(ASK_AFTER_MS, () => {
      const asking = expectsAnswers ? this.#askBuiltIn(PROBE, { requestId }, undefined) : connection.repeat(message)
      asking.catch(() => undefined)
    })
  }

  #connection(signal: AbortSignal | undefined): Promise<Connection> {
    if (this.#current) return Promise.resolve(this.#current)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return orAborted(this.#connecting, signal)
  }

  async #connect(): Promise<Connection> {
    if (this.#closed) throw this.#closed
    if (this.#failures > 0) await systemClock.wait(delayMs(this.#failures - 1), undefined)
    let connection: Connection
    try {
      connection = await Connection.open(this.#settings, () => {
        this.#current = undefined
      })
    } catch (thrown) {
      this.#failures++
      throw thrown
    }
    this.#failures = 0
    if (this.#closed) {
      connection.end(this.#closed)
      throw this.#closed
    }
    this.#current = connection
    return connection
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason))
    promise.then(resolve, reject).finally(forget)
  })
}
