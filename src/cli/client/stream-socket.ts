/** Reads the frames of a stream from a WebSocket of its own. Its close frame tells how the stream ended. */
import { openSeal } from '../../wire/frames/seal.ts'
import type { FrameSink } from './frames.ts'
import type { Remote, StreamPlace } from './remote.ts'

const DONE = 1000
const FAILED = 4000

/** `unopened`: the server, or a proxy before it, refused the connection. */
export type SocketEnd = 'complete' | 'error' | 'broken' | 'unopened'

/** Rejects if the command is interrupted. */
export function readSocket(remote: Remote, stream: StreamPlace, { show, signal }: FrameSink): Promise<SocketEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<SocketEnd>()
  const socket = new WebSocket(stream.location, { headers: remote.streamCredential(stream) })
  const interrupt = () => {
    socket.close()
    reject(remote.signal.reason)
  }
  const leave = () => {
    socket.close()
    resolve('broken')
  }
  let isOpen = false
  socket.binaryType = 'arraybuffer'
  socket.addEventListener('open', () => {
    isOpen = true
  })
  socket.addEventListener('message', ({ data }) => show(...frameIn(data, stream)))
  socket.addEventListener('close', ({ code }) => resolve(isOpen ? endOf(code) : 'unopened'))
  // A connection that fails is closed, too.
  socket.addEventListener('error', () => {})
  remote.signal.addEventListener('abort', interrupt, { once: true })
  signal.addEventListener('abort', leave, { once: true })
  return promise.finally(() => {
    remote.signal.removeEventListener('abort', interrupt)
    signal.removeEventListener('abort', leave)
  })
}

function endOf(code: number): SocketEnd {
  if (code === DONE) return 'complete'
  return code === FAILED ? 'error' : 'broken'
}

/** JSON as it is, other encodings in base64, as server-sent events have them. The number if the frame has one. */
function frameIn(data: string | ArrayBuffer, { encoding, integrity }: StreamPlace): [text: string, seq?: number] {
  if (typeof data === 'string') return [data]
  const bytes = new Uint8Array(data)
  const sealed = integrity && openSeal(bytes)
  const text = Buffer.from(sealed?.payload ?? bytes).toString(encoding === 'json' ? 'utf8' : 'base64')
  return sealed ? [text, sealed.seq] : [text]
}
