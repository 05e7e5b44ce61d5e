/** Server-sent events, written and read (WHATWG HTML, "Server-sent events"). What the data means is the user's part. */
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'

const EVENT_STREAM = 'text/event-stream'

/** `X-Accel-Buffering` keeps nginx from collecting events before it passes them on. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': EVENT_STREAM,
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

/** Comments this often keep proxies from taking a quiet connection for a dead one. */
const HEARTBEAT_MS = 15_000

export const HEARTBEAT = encodeComment('still here')

/** Whether a `Content-Type` is that of a stream of events. */
export function isEventStream(contentType: string | null | undefined): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(contentType ?? '')
}

/** `event` must be one line. Data of several lines becomes several fields, which a reader joins again. */
export function encodeEvent(event: string, data: string): string {
  return `event: ${event}\ndata: ${/[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join('\ndata: ') : data}\n\n`
}

/** A line that readers skip. */
export function encodeComment(text: string): string {
  return `: ${text}\n\n`
}

/** What comes next, or nothing when it is time for a heartbeat. */
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

export interface ServerSentEvent {
  readonly event: string
  readonly data: string
  /** The id it was sent with, or that of an event before it. Empty where none had one. */
  readonly id: string
}

export interface DecoderOptions {
  /** Of one event, with the names of its fields: a longer one is refused. In UTF-16 units once it is text. */
  readonly maxLength: number
  /** Made when an event is longer than that. */
  tooLong?(maxLength: number): Fault
}

/**
 * Reads a stream piece by piece. The work is linear in the size of the stream, however it is cut into pieces, and at
 * most one event is kept. An event that the end of the stream cuts off is left out, as the standard has it.
 */
export class EventDecoder {
  readonly #options: DecoderOptions
  readonly #text = new TextDecoder()
  /** The pieces of a line whose end has not come. */
  #line: string[] = []
  /** Of the event that is being read. */
  #length = 0
  #data: string[] = []
  #event = ''
  #id = ''
  /** The last piece ended in CR, so an LF at the start of the next belongs to the same line end. */
  #afterReturn = false

  constructor(options: DecoderOptions) {
    this.#options = options
  }

  /** The events that this piece completes. */
  push(piece: Uint8Array): ServerSentEvent[] {
    const text = this.#text.decode(piece, { stream: true })
    const events: ServerSentEvent[] = []
    let at = this.#afterReturn && text.startsWith('\n') ? 1 : 0
    if (text !== '') this.#afterReturn = text.endsWith('\r')
    const lineEnds = /\r\n|\r|\n/g
    lineEnds.lastIndex = at
    for (let end = lineEnds.exec(text); end; end = lineEnds.exec(text)) {
      this.#add(text.slice(at, end.index))
      at = lineEnds.lastIndex
      const event = this.#endLine()
      if (event) events.push(event)
    }
    this.#add(text.slice(at))
    return events
  }

  #add(text: string): void {
    if (text === '') return
    this.#length += text.length
    const { maxLength, tooLong = eventTooLong } = this.#options
    if (this.#length > maxLength) throw tooLong(maxLength)
    this.#line.push(text)
  }

  #endLine(): ServerSentEvent | undefined {
    const line = this.#line.length === 1 ? (this.#line[0] as string) : this.#line.join('')
    this.#line = []
    if (line === '') return this.#endEvent()
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    return undefined
  }

  #endEvent(): ServerSentEvent | undefined {
    const event = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id }
    const isEmpty = this.#data.length === 0
    this.#data = []
    this.#event = ''
    this.#length = 0
    return isEmpty ? undefined : event
  }
}

function eventTooLong(maxLength: number): Fault {
  return new Fault('upstream', `An event of the stream is longer than the ${maxLength} characters allowed.`, {
    code: 'EVENT_TOO_LONG',
    retryable: false,
    details: { limit: maxLength },
  })
}
