/** Writes server-sent events (WHATWG HTML, "Server-sent events"), and reads them with limits. */
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { type EventLimit, EventReader } from './event-reader.ts'

export { isEventStream, type ServerSentEvent } from './event-reader.ts'

export const EVENT_STREAM_TYPE = 'text/event-stream'

/** `X-Accel-Buffering` stops nginx from buffering events. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': EVENT_STREAM_TYPE,
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

/** Comments at this interval stop proxies from closing a quiet connection. */
const HEARTBEAT_MS = 15_000

export const HEARTBEAT = encodeComment('still here')

/** `event` must be one line. Data of several lines becomes several fields, which a reader joins again. */
export function encodeEvent(event: string, data: string): string {
  return `event: ${event}\ndata: ${/[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join('\ndata: ') : data}\n\n`
}

/** Encodes a comment line, which readers skip. */
export function encodeComment(text: string): string {
  return `: ${text}\n\n`
}

/** Resolves to the next value, or to `undefined` when a heartbeat is due. */
export function orHeartbeat<T>(next: Promise<T>, clock: Clock): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(HEARTBEAT_MS, () => resolve(undefined))
    next.then(
      (step) => {
        cancel()
        resolve(step)
      },
      (thrown: unknown) => {
        cancel()
        reject(thrown)
      },
    )
  })
}

/** An event above the limit is a fault. */
export class EventDecoder extends EventReader {
  constructor({ maxLength, tooLong = eventTooLong }: { maxLength: number; tooLong?: EventLimit['tooLong'] }) {
    super({ maxLength, tooLong })
  }
}

function eventTooLong(maxLength: number): Fault {
  return new Fault('upstream', `An event of the stream is longer than the ${maxLength} characters allowed.`, {
    code: 'EVENT_TOO_LONG',
    retryable: false,
    details: { limit: maxLength },
  })
}
