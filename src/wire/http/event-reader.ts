/** Reads server-sent events (WHATWG HTML, "Server-sent events"). The caller interprets the data. */

/** True if a `Content-Type` is that of an event stream. */
export function isEventStream(contentType: string | null | undefined): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(contentType ?? '')
}

export interface ServerSentEvent {
  readonly event: string
  readonly data: string
  /** The id of this event or of the last event that had one. Empty if there was none. */
  readonly id: string
}

export interface EventLimit {
  /** Maximum length of one event, field names included. In UTF-16 units after decoding. */
  readonly maxLength: number
  /** Creates the error for an event above `maxLength`. */
  tooLong(maxLength: number): Error
}

/**
 * Reads a stream in pieces. The work is linear in the size of the stream, however it is split, and at most one event is
 * kept in memory. An incomplete event at the end of the stream is discarded, as the standard requires.
 */
export class EventReader {
  readonly #options: EventLimit
  readonly #text = new TextDecoder()
  /** The pieces of a line that is not complete yet. */
  #line: string[] = []
  /** The length of the event that is being read. */
  #length = 0
  #data: string[] = []
  #event = ''
  #id = ''
  /** The last piece ended with CR, so an LF at the start of the next one belongs to the same line end. */
  #afterReturn = false

  constructor(options: EventLimit) {
    this.#options = options
  }

  /** Returns the events that this piece completes. */
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
    const { maxLength, tooLong } = this.#options
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
