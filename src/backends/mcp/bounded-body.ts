/**
 * Holds the body of an answer to a size: as a whole, or message by message where it is a stream of events, which may
 * go on for as long as the connection stands.
 */
import { Fault } from '../../core/fault.ts'
import { EventDecoder } from '../../wire/http/event-stream.ts'

export class BodyMeter {
  readonly #maxBytes: number
  readonly #events: EventDecoder | undefined
  #bytes = 0
  #named = false

  constructor(maxBytes: number, events: boolean) {
    this.#maxBytes = maxBytes
    this.#events = events ? new EventDecoder({ maxLength: maxBytes, tooLong: tooLarge }) : undefined
  }

  /** Some event had an id: if the stream breaks, the rest of it can be asked for. */
  get resumable(): boolean {
    return this.#named
  }

  /** Throws once there is more than may be. */
  add(chunk: Uint8Array): void {
    if (this.#events) {
      for (const { id } of this.#events.push(chunk)) this.#named ||= id !== ''
      return
    }
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) throw tooLarge(this.#maxBytes)
  }
}

export function tooLarge(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool answered with more than the ${maxBytes} bytes allowed. Have it answer with less, or raise "maxBytes".`,
    { code: 'ANSWER_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}
