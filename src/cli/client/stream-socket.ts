/** Reads the frames of a stream from a WebSocket of its own. Its close frame tells how the stream ended. */
import { openSeal } from '../../wire/frames/seal.ts'
import type { Remote, StreamPlace } from './remote.ts'

const DONE = 1000
const FAILED = 4000

/** `unopened`: the server, or a proxy before it, refused the connection. */
export type SocketEnd = 'complete' | 'error' | 'broken' | 'unopened'

/** Calls `show` with the text of each frame. Rejects if the command is interrupted. */
export function readSocket(remote: Remote, stream: StreamPlace, show: (frame: string) => void): Promise<SocketEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<SocketEnd>()
  const socket = new WebSocket(stream.location, { headers: remote.streamCredential(stream) })
  const interrupt = () => {
    socket.close()
    reject(remote.signal.reason)
  }
  let isOpen = false
  socket.binaryType = 'arraybuffer'
  socket.addEventListener('open', () => {
    isOpen = true
  })
  socket.addEventListener('message', ({ data }) => show(textOf(data, stream)))
  socket.addEventListener('close', ({ code }) => resolve(isOpen ? endOf(code) : 'unopened'))
  // A connection that fails is closed, too.
  socket.addEventListener('error', () => {})
  remote.signal.addEventListener('abort', interrupt, { once: true })
  return promise.finally(() => remote.signal.removeEventListener('abort', interrupt))
}

function endOf(code: number): SocketEnd {
  if (code === DONE) return 'complete'
  return code === FAILED ? 'error' : 'broken'
}

/** JSON as it is, other encodings in base64, as server-sent events have them. */
function textOf(data: string | ArrayBuffer, { encoding, integrity }: StreamPlace): string {
  if (typeof data === 'string') return data
  const bytes = new Uint8Array(data)
  const payload = Buffer.from(integrity ? openSeal(bytes).payload : bytes)
  return payload.toString(encoding === 'json' ? 'utf8' : 'base64')
}
