/** The limit for calls over HTTP/3: the library @currentspace/http3 alone, hand-written for one operation. */
import { once } from 'node:events'
import { loadQuicLibrary } from '../../src/carriers/quic/library.ts'
import { quicSettings } from '../../src/carriers/quic/settings.ts'
import { createOpenCall } from './add-opencall.ts'
import { type Contender, requireTls } from './contender.ts'

const NOTHING = Buffer.alloc(0)

export const start: Contender = async ({ tls }) => {
  const { path, headers, answer } = await createOpenCall()
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const settings = { ...quicSettings(requireTls(tls), {}), metricsIntervalMs: 0, reusePort: false }
  const server = loadQuicLibrary().createSecureServer(settings, (stream, request) => {
    stream.on('error', () => undefined)
    if (request[':method'] !== 'POST' || request[':path'] !== path) {
      stream.respondWithBody({ ':status': '404', 'content-length': '0' }, NOTHING)
      return
    }
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
      const { status, body } = answer(bytes.toString(), {})
      const reply = Buffer.from(body)
      stream.respondWithBody({ ':status': String(status), ...fields, 'content-length': String(reply.length) }, reply)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: server.address()?.port ?? 0, close: () => server.close() }
}
