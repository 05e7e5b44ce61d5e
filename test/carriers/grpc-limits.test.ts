/** Unauthenticated clients that send without end: the server neither waits for their data nor buffers it. */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { expect, onTestFinished, test } from 'vitest'
import { createGrpcCarrier, type GrpcLimits } from '../../src/carriers/grpc/index.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { encodeFrame } from '../../src/wire/grpc/framing.ts'

const MAX_BYTES = 1_000

/** Answers `/echo` with its message; `/hang` never. */
async function open(limits: Partial<GrpcLimits>): Promise<ClientHttp2Session> {
  const methods = new Map([
    ['/echo', async ({ text }: { text: string }) => text],
    ['/hang', () => new Promise<string>(() => {})],
  ])
  const carrier = createGrpcCarrier({ methods, maxBytes: MAX_BYTES, log: createMemoryLog([]), limits })
  const { port } = await carrier.listen({ host: '127.0.0.1', port: 0 })
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  onTestFinished(async () => {
    session.destroy()
    await carrier.close(0)
  })
  return session
}

function begin(session: ClientHttp2Session, path = '/echo'): ClientHttp2Stream {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc+json', te: 'trailers' }
  return session.request(headers, { endStream: false }).on('error', () => {})
}

async function statusOf(stream: ClientHttp2Stream): Promise<unknown> {
  const [head] = await once(stream, 'response')
  return head['grpc-status']
}

/** A message, all but its end. */
const UNENDED = encodeFrame('x'.repeat(900)).subarray(0, -1)

test('a message that does not end is not waited for, and its stream is closed', async () => {
  const session = await open({ readMs: 50 })
  const stream = begin(session)
  const closed = once(stream, 'close')
  stream.write(UNENDED)

  expect(await statusOf(stream)).toBe('4')
  stream.resume()
  await closed
  expect(stream.rstCode).toBe(0)
})

test('unended messages hold so many bytes on one connection; when they are gone there is room again', async () => {
  const session = await open({ sessionBytes: 2 * MAX_BYTES })
  const held = [begin(session), begin(session)]
  for (const stream of held) stream.write(UNENDED)
  const third = begin(session)
  third.write(UNENDED)

  expect(await statusOf(third)).toBe('14')
  for (const stream of held) {
    stream.close(8)
    await once(stream, 'close')
  }
  // A round trip: the server has heard of it.
  await new Promise<void>((resolve) => session.ping(() => resolve()))
  const again = begin(session)
  again.end(encodeFrame('x'.repeat(900)))
  await once(again, 'response')
  const [trailers] = await once(again.resume(), 'trailers')
  expect(trailers['grpc-status']).toBe('0')
})

test('a connection may have a hundred streams at a time', async () => {
  const session = await open({})

  const [settings] = await once(session, 'remoteSettings')

  expect(settings.maxConcurrentStreams).toBe(100)
})

test('a connection on which nothing happens is cut, though a call on it has not ended', async () => {
  const session = await open({ idleMs: 50, closeMs: 50 })
  const stream = begin(session, '/hang')
  stream.end(encodeFrame('x'))

  await once(session, 'close')

  expect(stream.destroyed).toBe(true)
})
