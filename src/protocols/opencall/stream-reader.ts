/** Reads who wants to read a stream, and from where on, out of the request for `/streams/{id}`. */
import { Fault } from '../../core/fault.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { Exchange } from '../../core/ports/exchange.ts'
import type { StreamReader } from '../../core/ports/frames.ts'
import type { Identify, Presented } from '../../core/ports/guard.ts'

interface ReaderQuery {
  /** The one-time key of the reply to the call. Absent: the caller shows its own credential. */
  ticket?: string
  /** The number of the last frame that the reader has. */
  after?: number
}

export interface ReaderParts {
  calls: Pick<Calls, 'readStream'>
  /** Identifies the caller. */
  identify: (presented: Presented) => Identify
}

/** Connects a reader: with its ticket, or else with the credential of the request. Throws a fault if it may not read. */
export async function connectReader(
  { calls, identify }: ReaderParts,
  request: Pick<Exchange, 'query' | 'header'>,
  id: string,
  open: StreamReader['open'],
): Promise<void> {
  const { ticket, after } = readerIn(request)
  const caller = ticket === undefined ? await identify(request)() : undefined
  await calls.readStream(caller, { id, open, ...(ticket && { ticket }), ...(after !== undefined && { after }) })
}

function readerIn(request: Pick<Exchange, 'query' | 'header'>): ReaderQuery {
  const asked = new URLSearchParams(request.query)
  const ticket = asked.get('ticket') ?? /^otk\s+(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
  const after = asked.get('after') ?? request.header('last-event-id')
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw new Fault('malformed', '"after" must be the number of a frame, such as 42.')
  }
  return { ...(ticket && { ticket }), ...(after !== undefined && { after: Number(after) }) }
}
