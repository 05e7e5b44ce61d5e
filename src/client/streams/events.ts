/** Frames as server-sent events, read with `fetch`. A slow loop makes the server wait. */
import { EventReader, isEventStream } from '../../wire/http/event-reader.ts'
import { fromBase64 } from '../base64.ts'
import { CallFault } from '../fault.ts'
import { bytesOf } from '../http/body.ts'
import { isLost } from '../judge.ts'
import type { Fetcher } from '../transport.ts'
import { frameAddress, type ReaderEnd, type ReadFrames, type Reading } from './reader.ts'

/** The largest frame that is read, in characters. */
export const MAX_EVENT = 64 * 1024 * 1024

export const readEvents: ReadFrames = async (fetcher, reading) => {
  try {
    return await readResponse(await connect(fetcher, reading), reading)
  } catch (thrown) {
    if (reading.signal.aborted || !isLost(thrown)) throw thrown
    return { state: 'broken' }
  }
}

function connect(fetcher: Fetcher, reading: Reading): Promise<Response> {
  const { place, after, signal } = reading
  const address = frameAddress(fetcher, reading)
  address.protocol = address.protocol.replace('ws', 'http')
  const ticket = after === undefined ? place.auth : undefined
  const scheme = ticket?.credentialType === 'bearer' ? 'Bearer' : 'OTK'
  const authorization = ticket && `${scheme} ${ticket.credential}`
  return fetcher.fetch(address, { headers: { accept: 'text/event-stream' }, signal, authorization })
}

async function readResponse(response: Response, { place, push, signal }: Reading): Promise<ReaderEnd> {
  if (!response.ok || !isEventStream(response.headers.get('content-type'))) {
    await response.body?.cancel()
    return { state: 'broken', refused: true }
  }
  const decoder = new EventReader({ maxLength: MAX_EVENT, tooLong })
  for await (const piece of bytesOf(response, signal)) {
    for (const { event, data, id } of decoder.push(piece)) {
      if (event === 'end') return endIn(data)
      if (event !== 'frame') continue
      const seq = place.integrity && id ? Number(id) : undefined
      await push({ data: place.encoding === 'json' ? data : fromBase64(data), seq })
    }
  }
  return { state: 'broken' }
}

function endIn(data: string): ReaderEnd {
  try {
    const end = JSON.parse(data) as ReaderEnd | null
    return end?.state === 'error' ? { state: 'error', error: end.error } : { state: 'complete' }
  } catch {
    return { state: 'broken' }
  }
}

export function tooLong(): CallFault {
  return new CallFault('DAMAGED_FRAME', 'A frame of the stream is too large.', { outcome: 'failed' })
}
