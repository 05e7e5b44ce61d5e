/**
 * Holds the body of an answer to a size: as a whole, or message by message where it is a stream of events, which may
 * go on for as long as the connection stands.
 */
import { Fault } from '../../core/fault.ts'

const NEWLINE = 10
const RETURN = 13

export class BodyMeter {
  readonly #maxBytes: number
  readonly #events: boolean
  #bytes = 0
  #atLineStart = true
  #named = false

  constructor(maxBytes: number, events: boolean) {
    this.#maxBytes = maxBytes
    this.#events = events
  }

  /** Some event had an id: if the stream breaks, the rest of it can be asked for. */
  get resumable(): boolean {
    return this.#named
  }

  /** Throws once there is more than may be. */
  add(chunk: Uint8Array): void {
    if (this.#events) this.#addEvents(chunk)
    else this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) throw tooLarge(this.#maxBytes)
  }

  /** An empty line ends an event. */
  #addEvents(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const byte = chunk[at]
      if (byte === NEWLINE || byte === RETURN) {
        if (this.#atLineStart && byte === NEWLINE) this.#bytes = 0
        if (byte === NEWLINE) this.#atLineStart = true
        at++
        continue
      }
      if (this.#atLineStart && byte === 0x69 && chunk[at + 1] === 0x64 && chunk[at + 2] === 0x3a) this.#named = true
      this.#atLineStart = false
      const next = chunk.indexOf(NEWLINE, at)
      const end = next < 0 ? chunk.length : next
      this.#bytes += end - at
      at = end
    }
  }
}

export function tooLarge(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool answered with more than the ${maxBytes} bytes allowed. Have it answer with less, or raise "maxBytes".`,
    { code: 'ANSWER_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}
