/**
 * Frames over a WebSocket of their own. Its close code tells how the stream ended. A WebSocket cannot be slowed down:
 * frames wait in memory, up to a bound.
 */
import type { Fetcher } from '../transport.ts'
import { frameAddress, type ReaderEnd, type ReadFrames, type Reading } from './reader.ts'

const DONE = 1000
const FAILED = 4000

/** The one-time key of a stream, or the caller's token. */
export interface ShownCredential {
  readonly scheme: 'OTK' | 'Bearer'
  readonly value: string
  /** Its name in a query. */
  readonly parameter: 'ticket' | 'access_token'
}

export type OpenSocket = (address: URL, shown: ShownCredential | undefined) => WebSocket

/** Browsers cannot set headers, so the credential is in the query. */
export const readSocket = createSocketReader((address, shown) => {
  if (shown) address.searchParams.set(shown.parameter, shown.value)
  return new WebSocket(address)
})

export function createSocketReader(open: OpenSocket): ReadFrames {
  return async (fetcher, reading) => {
    const address = frameAddress(fetcher, reading)
    address.protocol = address.protocol.replace('http', 'ws')
    const shown = await credentialOf(fetcher, address, reading)
    return readFrom(() => open(address, shown), reading)
  }
}

async function credentialOf(
  fetcher: Fetcher,
  address: URL,
  { place, after }: Reading,
): Promise<ShownCredential | undefined> {
  if (place.auth && after === undefined) {
    const { credentialType, credential: value } = place.auth
    return { scheme: credentialType === 'bearer' ? 'Bearer' : 'OTK', value, parameter: 'ticket' }
  }
  const value = await fetcher.token(address)
  return value === undefined ? undefined : { scheme: 'Bearer', value, parameter: 'access_token' }
}

function readFrom(open: () => WebSocket, { push, signal }: Reading): Promise<ReaderEnd> {
  return new Promise<ReaderEnd>((resolve, reject) => {
    const socket = open()
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
        push({ data: typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer) })
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
