/**
 * Limits the size of a response body. An event stream may stay open as long as the connection, so there the limit
 * applies to each message instead of the whole body.
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

  /** True if an event had an id: the client can then request the rest of a broken stream. */
  get resumable(): boolean {
    return this.#named
  }

  /** Throws if the limit is exceeded. */
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
    `The tool's response is larger than ${maxBytes} bytes. Change the tool to return less, or raise "maxBytes".`,
    { code: 'ANSWER_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}
