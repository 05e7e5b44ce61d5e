/**
 * The frames of a stream as server-sent events, for readers without a WebSocket, such as curl. A frame that is not text
 * is in base64. A sealed frame is sent without its header: its number is the id of the event.
 */
import type { Fault } from '../../../core/fault.ts'
import type { FrameBytes } from '../../../core/operation/stream.ts'
import type { FrameChannel, OpenStream } from '../../../core/ports/frames.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { openSeal } from '../../../wire/frames/seal.ts'
import { encodeEvent, HEARTBEAT, orHeartbeat } from '../../../wire/http/event-stream.ts'
import { encodeFault } from '../faults.ts'

/** A reader has room for this many frames. */
const MAX_WAITING = 64

export class FrameEvents implements FrameChannel {
  readonly signal: AbortSignal
  readonly #stream: OpenStream
  readonly #base64: (bytes: Uint8Array) => string
  #events: string[] = []
  #wake = () => {}
  #room: PromiseWithResolvers<void> | undefined
  #ended = false

  constructor(stream: OpenStream, signal: AbortSignal, base64: (bytes: Uint8Array) => string) {
    this.#stream = stream
    this.signal = signal
    this.#base64 = base64
    signal.addEventListener('abort', () => this.#leave(), { once: true })
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    this.#events.push(this.#encode(frame))
    this.#wake()
    if (this.#events.length < MAX_WAITING) return
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  end(fault?: Fault): void {
    const end = fault ? { state: 'error', error: encodeFault(fault) } : { state: 'complete' }
    this.#events.push(encodeEvent('end', JSON.stringify(end)))
    this.#ended = true
    this.#wake()
  }

  /** The body of the response. */
  async *events(clock: Clock): AsyncIterable<string> {
    try {
      while (!this.signal.aborted) {
        const ready = this.#events.join('')
        this.#events = []
        this.#makeRoom()
        if (ready !== '') yield ready
        else if (this.#ended) return
        else if (!(await orHeartbeat(this.#next(), clock))) yield HEARTBEAT
      }
    } finally {
      this.#leave()
    }
  }

  #next(): Promise<true> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(true)
    })
  }

  #leave(): void {
    this.#makeRoom()
    this.#wake()
  }

  #makeRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  #encode(frame: FrameBytes): string {
    if (typeof frame === 'string') return encodeEvent('frame', frame)
    const { encoding, sealed } = this.#stream
    const { seq, payload } = sealed ? openSeal(frame) : { seq: undefined, payload: frame }
    const data = encoding === 'json' ? new TextDecoder().decode(payload) : this.#base64(payload)
    return (seq === undefined ? '' : `id: ${seq}\n`) + encodeEvent('frame', data)
  }
}
