import { once } from 'node:events'
import { connect } from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import { operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { encodeFrame } from '../../../src/wire/grpc/framing.ts'
import { verifies } from '../../requirements.ts'
import { openHost, request } from './host.ts'
import { grpcPeer } from './peer.ts'

const EXECUTE = '/orloj.tool.v1.ToolService/Execute'

const shout = operation('v1:words.shout', {
  args: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  run: ({ text }) => ({ shouted: String(text).toUpperCase() }),
})

function codeIn(thrown: unknown): Code {
  return ConnectError.from(thrown).code
}

/** The status of a call whose bytes and headers are the test's own. */
async function statusOf(port: number, bytes: Uint8Array, headers: Record<string, string> = {}) {
  const session = connect(`http://127.0.0.1:${port}`)
  onTestFinished(() => session.destroy())
  const stream = session.request({
    ':method': 'POST',
    ':path': EXECUTE,
    'content-type': 'application/grpc+json',
    te: 'trailers',
    ...headers,
  })
  stream.end(bytes)
  const [head] = await once(stream, 'response')
  return { http: head[':status'], grpc: head['grpc-status'] }
}

test('another implementation of gRPC has a tool executed, in JSON, and gets the envelope', async () => {
  verifies('contract:137', 'contract:138', 'contract:031', 'contract:033')
  const { grpcPort } = await openHost({ operations: [shout] })

  const answer = await grpcPeer(`http://127.0.0.1:${grpcPort}`)(
    request('r1', 'words_shout', { input: { text: 'hey' } }),
  )

  expect(answer).toMatchObject({ request_id: 'r1', status: 'ok', output: { shouted: 'HEY' } })
})

test('a failure of the Contract is an envelope, not a status', async () => {
  const { grpcPort } = await openHost({ operations: [shout] })

  const answer = await grpcPeer(`http://127.0.0.1:${grpcPort}`)(request('r1', 'words_none'))

  expect(answer).toMatchObject({ status: 'error', error: { code: 'unsupported_tool', details: {} } })
})

test('the metadata has the credential, and an unknown caller is UNAUTHENTICATED', async () => {
  const { grpcPort } = await openHost({ operations: [shout], tokens: { good: ['*'] } })
  const call = grpcPeer(`http://127.0.0.1:${grpcPort}`)
  const asked = request('r1', 'words_shout', { input: { text: 'a' } })

  expect(codeIn(await call(asked).catch((thrown) => thrown))).toBe(Code.Unauthenticated)
  expect(await call(asked, { headers: { authorization: 'Bearer good' } })).toMatchObject({ status: 'ok' })
})

test('a client that cancels takes the work with it, and one whose time is over gets DEADLINE_EXCEEDED', async () => {
  verifies('contract:122')
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stopped = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const hang = operation('v1:words.hang', {
    args: { type: 'object', properties: { at: { type: 'integer' } } },
    run: ({ at }, { signal }) => {
      begun[Number(at)]?.resolve()
      signal.addEventListener('abort', () => stopped[Number(at)]?.resolve(signal.reason.kind))
      return new Promise(() => {})
    },
  })
  const { grpcPort } = await openHost({ operations: [hang] })
  const call = grpcPeer(`http://127.0.0.1:${grpcPort}`)
  const leaving = new AbortController()

  const canceled = call(request('r1', 'words_hang', { input: { at: 0 } }), { signal: leaving.signal })
  await begun[0]?.promise
  leaving.abort()
  const expired = call(request('r2', 'words_hang', { input: { at: 1 } }), { timeoutMs: 100 })

  expect(codeIn(await canceled.catch((thrown) => thrown))).toBe(Code.Canceled)
  expect(codeIn(await expired.catch((thrown) => thrown))).toBe(Code.DeadlineExceeded)
  expect(await stopped[0]?.promise).toBe('canceled')
  expect(await stopped[1]?.promise).toBe('timeout')
})

test('an invalid message is refused with its gRPC status', async () => {
  const { grpcPort } = await openHost({ operations: [shout], maxBytes: 1_000 })
  const good = encodeFrame(JSON.stringify(request('r1', 'words_shout', { input: { text: 'a' } })))
  const compressed = good.slice()
  compressed[0] = 1
  const twice = new Uint8Array([...good, ...good])
  const status = (bytes: Uint8Array, headers?: Record<string, string>) => statusOf(grpcPort, bytes, headers)

  expect(await status(good, { 'content-type': 'application/grpc' })).toEqual({ http: 200, grpc: undefined })
  expect(await status(good, { 'content-type': 'application/json' })).toEqual({ http: 415, grpc: undefined })
  expect(await status(good, { ':path': '/orloj.tool.v1.ToolService/Delete' })).toMatchObject({ grpc: '12' })
  expect(await status(good, { 'content-type': 'application/grpc+proto' })).toMatchObject({ grpc: '12' })
  expect(await status(good, { 'grpc-encoding': 'gzip' })).toMatchObject({ grpc: '12' })
  expect(await status(encodeFrame('no json'))).toMatchObject({ grpc: '3' })
  expect(await status(good.subarray(0, 20))).toMatchObject({ grpc: '3' })
  expect(await status(new Uint8Array())).toMatchObject({ grpc: '3' })
  expect(await status(compressed)).toMatchObject({ grpc: '3' })
  expect(await status(twice)).toMatchObject({ grpc: '3' })
  expect(await status(encodeFrame('x'.repeat(2_000)))).toMatchObject({ grpc: '8' })
})
