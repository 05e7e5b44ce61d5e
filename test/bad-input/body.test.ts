/** Bodies that are not envelopes: each gets an error that names its problem, and the server continues. */
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openSocket, readToClose, readUntil, say } from '../carriers/http-fixture.ts'
import { verifies } from '../requirements.ts'
import { expectRefusal, expectRefusalEnvelope, startServer, UUID } from './server.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const ADD = '{"op":"v1:Calculator.Add","args":{"a":1,"b":2}}'
const deep = (levels: number) => `{"op":"v1:Mirror.Echo","args":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}`

const bodies: [what: string, body: string | Buffer, code: string, advice: RegExp][] = [
  ['nothing', '', 'INVALID_JSON', /Send one JSON object/],
  ['words', 'hello', 'INVALID_JSON', /Send one JSON object/],
  ['half an object', '{"op":"v1:Calculator.Add"', 'INVALID_JSON', /Send one JSON object/],
  ['two objects', `${ADD}${ADD}`, 'INVALID_JSON', /Send one JSON object/],
  ['an object with a comma too many', '{"op":"v1:Calculator.Add",}', 'INVALID_JSON', /Send one JSON object/],
  ['a byte order mark', `\ufeff${ADD}`, 'INVALID_JSON', /UTF-8/],
  ['null', 'null', 'INVALID_REQUEST', /must be a JSON object/],
  ['true', 'true', 'INVALID_REQUEST', /must be a JSON object/],
  ['a number', '42', 'INVALID_REQUEST', /must be a JSON object/],
  ['a string', `"v1:Calculator.Add"`, 'INVALID_REQUEST', /must be a JSON object/],
  ['an array', `[${ADD}]`, 'INVALID_REQUEST', /must be a JSON object/],
  ['an empty object', '{}', 'INVALID_REQUEST', /Name the operation in "op"/],
  ['900 KB of opening brackets', '['.repeat(900_000), 'TOO_DEEP', /Send a flatter one/],
  ['900 KB of nested objects', '{"a":'.repeat(180_000), 'TOO_DEEP', /Send a flatter one/],
  ['an envelope that nests too deep', deep(100), 'TOO_DEEP', /64 levels/],
  ['10 MB of nesting', '['.repeat(10_000_000), 'BODY_TOO_LARGE', /send less/],
  ['the same key twice', '{"op":"v1:Calculator.Add","op":"v1:Calculator.Add"}', 'DUPLICATE_KEY', /Send each key once/],
  ['the same key twice, once escaped', `{"op":"v1:Mirror.Echo","args":{"a":1,"\\u0061":2}}`, 'DUPLICATE_KEY', /once/],
  ['a lone surrogate', `{"op":"v1:Mirror.Echo","args":{"x":"\\ud800"}}`, 'INVALID_UNICODE', /lone surrogate/],
  ['a lone surrogate as a key', `{"op":"v1:Mirror.Echo","args":{"\\udc00":1}}`, 'INVALID_UNICODE', /lone surrogate/],
  ['bytes that are not UTF-8', Buffer.from(`{"op":"caf\xe9"}`, 'latin1'), 'INVALID_UTF8', /encode it as UTF-8/],
  ['an encoded surrogate', Buffer.from('7b226f70223a22eda08022 7d'.replace(' ', ''), 'hex'), 'INVALID_UTF8', /UTF-8/],
]

test.each(bodies)('%s as the body is refused with 400, and nothing is kept', async (_, body, code, advice) => {
  verifies('opencall:003', 'opencall:103', 'opencall:107', 'opencall:129', 'opencall:130', 'opencall:139')
  const server = await startServer()

  const { requestId, message } = await expectRefusal(await server.send(body, JSON_TYPE), 400, code)

  expect(requestId).toMatch(UUID)
  expect(message).toMatch(advice)
  await server.expectUnharmed()
})

test('surrogates in pairs, deep but allowed nesting and every kind of value arrive as they were sent', async () => {
  const server = await startServer()
  const args = {
    pair: '\ud83d\ude00',
    deep: JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`),
    all: [null, true, 1.5, ''],
  }

  const response = await server.call({ op: 'v1:Mirror.Echo', args })

  expect(await response.json()).toMatchObject({ state: 'complete', result: args })
})

const types: [string, Record<string, string>, RegExp][] = [
  ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, /application\/json/],
  ['plain text', { 'Content-Type': 'text/plain' }, /application\/json/],
  ['XML', { 'Content-Type': 'application/xml' }, /application\/json/],
  ['JSON of another kind', { 'Content-Type': 'application/ld+json' }, /application\/json/],
  ['two types at once', { 'Content-Type': 'application/json, text/plain' }, /application\/json/],
  ['an empty type', { 'Content-Type': '' }, /no content type/],
]

test.each(types)('%s as the content type is refused, although the body would do', async (_, headers, advice) => {
  verifies('opencall:107', 'opencall:129', 'opencall:130')
  const server = await startServer()

  const { message } = await expectRefusal(await server.send(ADD, headers), 400, 'UNSUPPORTED_CONTENT_TYPE')

  expect(message).toMatch(advice)
  await server.expectUnharmed()
})

test('a request without a content type is refused, one with a charset is not', async () => {
  const server = await startServer()

  const none = await server.send(Buffer.from(ADD))
  const charset = await server.send(ADD, { 'Content-Type': 'Application/JSON; charset=utf-8' })

  expect((await expectRefusal(none, 400, 'UNSUPPORTED_CONTENT_TYPE')).message).toMatch(/no content type/)
  expect(await charset.json()).toMatchObject({ state: 'complete', result: 3 })
  await server.expectUnharmed()
})

test('a compressed body is refused with the advice to send it plain', async () => {
  const server = await startServer()

  const response = await server.send(gzipSync(ADD), { ...JSON_TYPE, 'Content-Encoding': 'gzip' })

  expect((await expectRefusal(response, 400, 'UNSUPPORTED_CONTENT_TYPE')).message).toMatch(/without a Content-Encoding/)
  await server.expectUnharmed()
})

test('a body that is announced too large is refused before any of it is read', async () => {
  const server = await startServer()
  const socket = await openSocket(server.port)

  socket.write(`POST /call HTTP/1.1\r\nHost: localhost\r\n${type}Content-Length: 99999999\r\n\r\n`)
  const answer = await readToClose(socket)

  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(envelopeIn(answer).error?.code).toBe('BODY_TOO_LARGE')
  await server.expectUnharmed()
})

test('a body without a stated length is refused as soon as it is too large', async () => {
  const server = await startServer({ sizes: { envelopeBytes: 1_000 } })
  const socket = await openSocket(server.port)
  const piece = `${(600).toString(16)}\r\n${' '.repeat(600)}\r\n`

  socket.write(`POST /call HTTP/1.1\r\nHost: localhost\r\n${type}Transfer-Encoding: chunked\r\n\r\n${piece}${piece}`)
  const answer = await readToClose(socket)

  expectRefusalEnvelope(statusIn(answer), envelopeIn(answer), 400, 'BODY_TOO_LARGE')
  await server.expectUnharmed()
})

test('an incomplete body runs and stores nothing, and the server continues', async () => {
  const server = await startServer()
  const socket = await openSocket(server.port)

  socket.end(`POST /call HTTP/1.1\r\nHost: localhost\r\n${type}Content-Length: ${ADD.length + 10}\r\n\r\n${ADD}`)
  const answer = await readToClose(socket)

  if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  await server.expectUnharmed()
})

test('a body that takes too long is refused, and the connection is closed', async () => {
  const server = await startServer()
  const socket = await openSocket(server.port)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())

  socket.write(`POST /call HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n${type}Content-Length: 50\r\n\r\n`)
  // Asked for, so by now the server is reading.
  await readUntil(socket, '100 Continue\r\n\r\n')
  socket.write('{')
  await vi.waitUntil(() => vi.getTimerCount() > 0)
  const answered = readToClose(socket)
  await vi.advanceTimersByTimeAsync(31_000)
  const answer = await answered

  expectRefusalEnvelope(statusIn(answer), envelopeIn(answer), 400, 'BODY_TIMEOUT')
  vi.useRealTimers()
  await server.expectUnharmed()
})

test.each([
  ['one enormous header', `X-Bomb: ${'x'.repeat(100_000)}\r\n`],
  ['thousands of headers', Array.from({ length: 5_000 }, (_, i) => `X-Bomb-${i}: x\r\n`).join('')],
])('%s is answered with 431 and the connection closed', async (_, headers) => {
  verifies('opencall:140')
  const server = await startServer()

  const answer = await say(server.port, `POST /call HTTP/1.1\r\nHost: localhost\r\n${type}${headers}\r\n`)

  expect(statusIn(answer)).toBe(431)
  // Generic, because it is not a request: no envelope. It could be empty, but a message saves the sender from guessing.
  expect(envelopeIn(answer)).toEqual({
    error: { code: 'HEADERS_TOO_LARGE', message: expect.stringContaining('send fewer') },
  })
  await server.expectUnharmed()
})

test('bytes that are not HTTP get a JSON response', async () => {
  verifies('opencall:140')
  const server = await startServer()

  const answer = await say(server.port, 'CALL v1:Calculator.Add\r\n\r\n')

  expect(statusIn(answer)).toBe(400)
  expect(envelopeIn(answer)).toEqual({ error: { code: 'INVALID_REQUEST', message: expect.any(String) } })
  await server.expectUnharmed()
})

test('a client that waits for 100 Continue is asked for a body only if it will be read', async () => {
  const server = await startServer()
  const head = (headers: string) =>
    `POST /call HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n${headers}\r\n`

  const willing = await openSocket(server.port)
  willing.write(head(`${type}Content-Length: ${ADD.length}\r\n`))
  const asked = await readUntil(willing, '\r\n\r\n')
  willing.write(ADD)
  const answered = await readToClose(willing)
  const refused = await say(server.port, head('Content-Type: text/plain\r\nContent-Length: 10\r\n'))

  expect(asked).toMatch(/^HTTP\/1\.1 100 /)
  expect(envelopeIn(answered)).toMatchObject({ state: 'complete', result: 3 })
  expectRefusalEnvelope(statusIn(refused), envelopeIn(refused), 400, 'UNSUPPORTED_CONTENT_TYPE')
  await server.expectUnharmed()
})

const type = 'Content-Type: application/json\r\n'

function statusIn(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

function envelopeIn(answer: string) {
  return JSON.parse(answer.slice(answer.indexOf('{')))
}
