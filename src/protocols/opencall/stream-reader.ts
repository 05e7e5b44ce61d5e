/** Reads who wants to read a stream, and from where on, out of the request for `/streams/{id}`. */
import { Fault } from '../../core/fault.ts'
import type { Exchange } from '../../core/ports/exchange.ts'

export interface ReaderQuery {
  /** The one-time key of the reply to the call. Absent: the caller shows its own credential. */
  ticket?: string
  /** The number of the last frame that the reader has. */
  after?: number
}

export function readerIn(request: Pick<Exchange, 'query' | 'header'>): ReaderQuery {
  const asked = new URLSearchParams(request.query)
  const ticket = asked.get('ticket') ?? /^otk\s+(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
  const after = asked.get('after') ?? request.header('last-event-id')
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw new Fault('malformed', '"after" must be the number of a frame, such as 42.')
  }
  return { ...(ticket && { ticket }), ...(after !== undefined && { after: Number(after) }) }
}
