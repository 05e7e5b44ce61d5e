/** The process that makes calls over one HTTP/3 connection, a fixed number at a time. It checks every reply. */
import { connectHttp3, type Http3Connection } from '../test/carriers/quic/client.ts'
import { answerQuestions } from './ask.ts'
import type { LoadResult } from './load.ts'
import { SOCKET_WIRES } from './socket-wires.ts'

export interface QuicLoadOptions {
  port: number
  ca: string
  inFlight: number
  durationMs: number
}

interface Kept {
  connection: Http3Connection
  next: number
}

const { encode, decode } = SOCKET_WIRES.opencall
const HEADERS = { ':method': 'POST', 'content-type': 'application/json' }

const open = new Map<number, Kept>()

answerQuestions({
  async run(options: QuicLoadOptions): Promise<Omit<LoadResult, 'p50Ms' | 'p99Ms'>> {
    const { port, ca, inFlight, durationMs } = options
    const kept = open.get(port) ?? { connection: await connectHttp3(port, ca), next: 0 }
    open.set(port, kept)
    const result = { calls: 0, wrong: 0, firstWrong: '' }
    const startedAt = performance.now()
    const callOneByOne = async () => {
      // On a busy machine a short window may pass without a call, so each makes at least one.
      do {
        const problem = await call(kept.connection, kept.next++)
        if (problem === undefined) result.calls++
        else {
          result.wrong++
          result.firstWrong ||= problem
        }
      } while (performance.now() - startedAt < durationMs)
    }
    await Promise.all(Array.from({ length: inFlight }, callOneByOne))
    return { ...result, elapsedMs: performance.now() - startedAt }
  },
  async stop() {
    await Promise.all([...open.values()].map(({ connection }) => connection.close()))
  },
})

/** Returns what is wrong with the reply. */
function call(connection: Http3Connection, n: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const body = Buffer.from(encode(n))
    const stream = connection.open('/call', { ...HEADERS, 'content-length': String(body.length) })
    let status: string | undefined
    let text = ''
    stream.on('response', (fields: Record<string, string>) => {
      status = fields[':status']
    })
    stream.on('data', (chunk: Buffer) => {
      text += chunk
    })
    stream.on('end', () => {
      const reply = status === '200' ? decode(text) : undefined
      resolve(reply?.n === n && reply.sum === n + 1 ? undefined : `${status} ${text}`)
    })
    stream.on('error', (error) => resolve(error.message))
    stream.end(body)
  })
}
