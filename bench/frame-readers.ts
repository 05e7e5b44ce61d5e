/** The process that reads frames: it opens readers of one server, counts what they receive, and leaves. */
import { answerQuestions } from './ask.ts'
import { fetchOnce } from './fetch-once.ts'
import { openReader, type SocketReader } from './socket-reader.ts'
import { callRequest } from './traffic.ts'

export interface ReadersOptions {
  port: number
  readers: number
  /** The stream to subscribe to. Absent: the server sends to every socket at once. */
  operation?: string
  path?: string
}

/** A frame of 100 bytes with its head. */
const WIRE_BYTES = 102
/** How many readers are opened at the same time. */
const AT_ONCE = 32

const buffer = new Uint8Array(256 * 1024)
const open: SocketReader[] = []
let opened = 0

answerQuestions({
  async open({ port, readers, operation, path = '/frames' }: ReadersOptions): Promise<void> {
    let left = readers
    const openSome = async () => {
      while (left-- > 0) {
        const at = operation === undefined ? path : await subscribe(port, operation)
        const reader = openReader(port, at, buffer)
        open.push(reader)
        await reader.opened
      }
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, readers) }, openSome))
  },
  /** Frames received in this time. */
  async read(durationMs: number): Promise<number> {
    const before = received()
    await new Promise((resolve) => setTimeout(resolve, durationMs))
    return (received() - before) / WIRE_BYTES
  },
  /** Closes the readers that were opened last. */
  close(readers: number): void {
    for (const reader of open.splice(-readers)) reader.close()
  },
  stop() {
    for (const reader of open) reader.close()
  },
})

function received(): number {
  return open.reduce((sum, reader) => sum + reader.bytes(), 0)
}

async function subscribe(port: number, operation: string): Promise<string> {
  const { body } = callRequest(operation, {}, `frames-${process.pid}-${opened++}`)
  const reply = await fetchOnce(port, '/call', { headers: { 'Content-Type': 'application/json' }, body })
  const { stream } = JSON.parse(reply.body.toString())
  if (!stream) throw new Error(`The stream was not accepted: ${reply.body}`)
  return `${new URL(stream.location).pathname}?ticket=${stream.auth.credential}`
}
