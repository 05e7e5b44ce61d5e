/** One press of "Run": sends the call over its wire, follows it to its end, and keeps what the page shows of it. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Server } from '../../api/server.ts'
import { FrameLog } from '../stream/frame-log.ts'
import { readFrames } from '../stream/read-frames.ts'
import { decodeEnvelope } from '../wires/opencall.ts'
import type { Failure, Outcome, Progress, StreamPlace, Wire, WireCall, WireRequest } from '../wires/wire.ts'
import { followCall } from './events.ts'
import type { Exchange } from './exchange.ts'
import { fetchFile, type ReadFile } from './fetch-file.ts'
import { type Received, send } from './send.ts'

export type RunState =
  | { kind: 'sending'; sent?: number; total?: number }
  | { kind: 'running'; requestId?: string; progress?: Progress; isLost?: boolean; isCanceling?: boolean }
  | { kind: 'receiving'; bytes: number; total?: number }
  | { kind: 'streaming'; requestId: string }
  | Ended

export type Ended =
  | { kind: 'value'; json: string }
  | { kind: 'file'; file: ReadFile }
  | { kind: 'stream-ended' }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'canceled' }

export interface RunParts {
  server: Server
  wire: Wire
  call: WireCall
  /** Files by the name of their slot. Only OpenCALL sends them as they are. */
  files: ReadonlyMap<string, File>
  /** Told once, when the run has ended. */
  onEnd(run: Run): void
}

/** Above this size the page says how much has arrived. */
const LARGE = 1_000_000

export class Run {
  readonly parts: RunParts
  readonly frames = new FrameLog()
  readonly startedAt = Date.now()
  readonly #state: Signal<RunState> = signal({ kind: 'sending' })
  readonly #exchanges: Signal<readonly Exchange[]> = signal([])
  readonly #abort = new AbortController()
  readonly #startedMs = performance.now()
  #requestId: string | undefined
  #streamId: string | undefined
  /** How long the whole call took, once it has ended. */
  durationMs: number | undefined

  constructor(parts: RunParts) {
    this.parts = parts
  }

  get state(): ReadonlySignal<RunState> {
    return this.#state
  }

  get exchanges(): ReadonlySignal<readonly Exchange[]> {
    return this.#exchanges
  }

  get requestId(): string | undefined {
    return this.#requestId
  }

  /** The server's id of the stream, once it has one. */
  get streamId(): string | undefined {
    return this.#streamId
  }

  async start(): Promise<void> {
    try {
      this.#end(await this.#carry())
    } catch (thrown) {
      this.#end(this.#abort.signal.aborted ? { kind: 'canceled' } : { kind: 'failed', failure: lost(thrown) })
    }
  }

  /** A recorded call is canceled at the server, which then reports its end. Any other ends with its connection. */
  async cancel(): Promise<void> {
    const state = this.#state.peek()
    if (isEnded(state)) return
    if (state.kind === 'streaming') return this.#unsubscribe(state.requestId)
    if (this.parts.wire.id !== 'opencall' || state.kind !== 'running' || this.#requestId === undefined) {
      this.#abort.abort(new DOMException('Canceled', 'AbortError'))
      return
    }
    this.#state.value = { ...state, isCanceling: true }
    const path = `ops/${encodeURIComponent(this.#requestId)}`
    const response = await this.parts.server.fetch(`/${path}`, { method: 'DELETE' })
    await response.body?.cancel()
    const now = this.#state.peek()
    // The server refused, so the call goes on.
    if (!response.ok && now.kind === 'running') this.#state.value = { ...now, isCanceling: false }
  }

  async #carry(): Promise<Ended> {
    const { wire, call } = this.parts
    let request = wire.encode(call)
    let received = await this.#send(request, this.#form(request))
    for (;;) {
      if (received.file) return { kind: 'file', file: { blob: received.file } }
      const outcome = wire.decode(received, call)
      if (outcome.kind !== 'running') return this.#finish(outcome)
      if (wire.id === 'opencall') return this.#follow(outcome)
      this.#state.value = { kind: 'running' }
      await new Promise((resolve) => setTimeout(resolve, outcome.retryAfterMs))
      this.#abort.signal.throwIfAborted()
      request = outcome.next
      received = await this.#send(request)
    }
  }

  #send(request: WireRequest, form?: FormData): Promise<Received> {
    const at = this.#exchanges.peek().length
    return send(
      this.parts.server,
      request,
      {
        signal: this.#abort.signal,
        onExchange: (exchange) => {
          this.#exchanges.value = [...this.#exchanges.peek().slice(0, at), exchange]
        },
        onSent: (sent, total) => {
          if (this.#state.peek().kind === 'sending') this.#state.value = { kind: 'sending', sent, total }
        },
        onReceived: (bytes, total) => {
          if (bytes < LARGE) return
          this.#state.value = { kind: 'receiving', bytes, ...(total !== undefined && { total }) }
        },
      },
      form,
    )
  }

  /** The envelope is the first part, so that the server can refuse a call before it reads the files. */
  #form({ body = '' }: WireRequest): FormData | undefined {
    const { files, wire } = this.parts
    if (files.size === 0 || wire.id !== 'opencall') return undefined
    const form = new FormData()
    form.append('envelope', new Blob([body], { type: 'application/json' }))
    for (const [name, file] of files) form.append(name, file)
    return form
  }

  /** The page is told about every change by the server. */
  async #follow(first: Extract<Outcome, { kind: 'running' }>): Promise<Ended> {
    const { requestId } = first
    this.#requestId = requestId
    this.#running(first.progress)
    let last: Outcome = first
    await followCall(this.parts.server, requestId, {
      signal: this.#abort.signal,
      onEnvelope: (text) => {
        last = decodeEnvelope(text, 200)
        if (last.kind !== 'running') return true
        this.#running(last.progress)
        return false
      },
      onLost: () => this.#running(undefined, true),
    })
    return this.#finish(last)
  }

  #running(progress: Progress | undefined, isLost = false): void {
    const before = this.#state.peek()
    const isCanceling = before.kind === 'running' && before.isCanceling === true
    const known = progress ?? (before.kind === 'running' ? before.progress : undefined)
    this.#state.value = {
      kind: 'running',
      ...(this.#requestId !== undefined && { requestId: this.#requestId }),
      ...(known && { progress: known }),
      ...(isLost && { isLost }),
      ...(isCanceling && { isCanceling }),
    }
  }

  async #finish(outcome: Outcome): Promise<Ended> {
    switch (outcome.kind) {
      case 'result':
        return { kind: 'value', json: outcome.json }
      case 'failure':
        return outcome.code === 'CANCELED' ? { kind: 'canceled' } : { kind: 'failed', failure: outcome }
      case 'stream':
        return this.#read(outcome.requestId, outcome.place)
      default: {
        const onBytes = (bytes: number) => {
          if (bytes >= LARGE) this.#state.value = { kind: 'receiving', bytes }
        }
        return fetchFile(this.parts.server, outcome, onBytes, this.#abort.signal)
      }
    }
  }

  async #read(requestId: string, place: StreamPlace): Promise<Ended> {
    this.#requestId = requestId
    this.#streamId = /\/streams\/([^/?#]+)/.exec(place.location)?.[1]
    this.#state.value = { kind: 'streaming', requestId }
    const { server } = this.parts
    const take = (text: string) => this.frames.push(text, performance.now())
    const end = await readFrames(server, place, take, this.#abort.signal)
    if (end.state === 'complete') return { kind: 'stream-ended' }
    const failure: Failure = { kind: 'failure', message: end.state === 'error' ? end.message : '' }
    if (end.state === 'broken') failure.code = 'UNREACHABLE'
    else if (end.code !== undefined) failure.code = end.code
    return { kind: 'failed', failure }
  }

  /** The server is told, so that the generator stops at once. Without it the stream ends because its reader is gone. */
  async #unsubscribe(requestId: string): Promise<void> {
    this.#abort.abort(new DOMException('Unsubscribed', 'AbortError'))
    await this.parts.server.client.call('v1:unsubscribeFromStream', { requestId }).catch(() => undefined)
  }

  #end(ended: Ended): void {
    this.durationMs = performance.now() - this.#startedMs
    // A stream that a person stopped has its frames.
    this.#state.value = ended.kind === 'canceled' && this.frames.total > 0 ? { kind: 'stream-ended' } : ended
    this.parts.onEnd(this)
  }
}

export function isEnded(state: RunState): state is Ended {
  return !['sending', 'running', 'receiving', 'streaming'].includes(state.kind)
}

function lost(thrown: unknown): Failure {
  return { kind: 'failure', code: 'UNREACHABLE', message: thrown instanceof Error ? thrown.message : String(thrown) }
}
