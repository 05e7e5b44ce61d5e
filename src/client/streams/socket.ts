/**
 * Frames over a WebSocket of their own. Its close code tells how the stream ended. Browsers cannot set headers, so the
 * one-time key or the token is in the query. A WebSocket cannot be slowed down: frames wait in memory, up to a bound.
 */
import { frameAddress, type ReaderEnd, type ReadFrames } from './reader.ts'

const DONE = 1000
const FAILED = 4000

export const readSocket: ReadFrames = async (fetcher, reading) => {
  const { place, after, signal } = reading
  const address = frameAddress(fetcher, reading)
  address.protocol = address.protocol.replace('http', 'ws')
  const ticket = after === undefined ? place.auth : undefined
  const token = ticket ? undefined : await fetcher.token(address)
  if (ticket) address.searchParams.set('ticket', ticket.credential)
  else if (token !== undefined) address.searchParams.set('access_token', token)
  return new Promise<ReaderEnd>((resolve, reject) => {
    const socket = new WebSocket(address)
    let isOpen = false
    const leave = () => {
      socket.close()
      reject(signal.reason)
    }
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => {
      isOpen = true
    }
    socket.onmessage = ({ data }) => {
      try {
        reading.push({ data: typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer) })
      } catch (thrown) {
        socket.close()
        reject(thrown)
      }
    }
    // A connection that fails is closed, too.
    socket.onclose = ({ code, reason }) => {
      signal.removeEventListener('abort', leave)
      resolve(endOf(code, reason, isOpen))
    }
  })
}

/** The reason of a failure is `CODE: message`. */
function endOf(code: number, reason: string, isOpen: boolean): ReaderEnd {
  if (!isOpen) return { state: 'broken', refused: true }
  if (code === DONE) return { state: 'complete' }
  if (code !== FAILED) return { state: 'broken' }
  const [, fault = 'STREAM_FAILED', message = reason] = /^([A-Z_0-9]+): (.*)$/s.exec(reason) ?? []
  return { state: 'error', error: { code: fault, message } }
}
