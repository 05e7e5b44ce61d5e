/**
 * Attachments that are missing, unexpected, of the wrong type, too large or truncated: refused, and nothing stays on
 * disk.
 */
import type { Socket } from 'node:net'
import { createToken } from 'callplane'
import { expect, test, vi } from 'vitest'
import { openSocket } from '../carriers/http-fixture.ts'
import { verifies } from '../requirements.ts'
import { expectRefusal, expectRefusalEnvelope, type Running, startServer, storedFiles, UUID } from './server.ts'

const OP = 'v1:Files.Describe'
const FILE = { name: 'file', mimeType: 'text/plain', part: 'file' }
const envelope = (media: unknown[] = [FILE], ctx?: object) => JSON.stringify({ op: OP, media, ...(ctx && { ctx }) })
const text = (content = 'hello', type = 'text/plain') => new Blob([content], { type })

function form(...parts: [name: string, value: string | Blob][]): FormData {
  const data = new FormData()
  for (const [name, value] of parts) data.append(name, value)
  return data
}

test('an attachment goes through with its envelope first, last, as a field or as a file', async () => {
  verifies('opencall:183')
  const server = await startServer()
  const forms = [
    form(['envelope', envelope()], ['file', text()]),
    form(['file', text()], ['envelope', envelope()]),
    form(['envelope', new Blob([envelope()], { type: 'application/json' })], ['file', text()]),
  ]

  for (const body of forms) {
    const response = await server.send(body)
    expect(await response.json()).toMatchObject({ state: 'complete', result: { bytes: 5, mimeType: 'text/plain' } })
  }
  // The call is not retained, so neither are its attachments.
  await server.expectUnharmed()
})

test('a part that does not know its own type has the one its entry names', async () => {
  const server = await startServer()
  const picture = envelope([{ ...FILE, mimeType: 'Image/PNG' }])

  for (const file of ['field', text('bytes', 'application/octet-stream'), text('bytes', 'image/png')]) {
    const response = await server.send(form(['envelope', picture], ['file', file]))
    expect(await response.json()).toMatchObject({ state: 'complete', result: { bytes: 5, mimeType: 'Image/PNG' } })
  }
  await server.expectUnharmed()
})

const refused: [what: string, body: FormData, code: string, advice: RegExp, ids: string[]][] = [
  ['no envelope', form(['file', text()]), 'ENVELOPE_MISSING', /in it/, ['opencall:183']],
  ['no parts', form(), 'ENVELOPE_MISSING', /part named "envelope"/, ['opencall:183']],
  ['two envelopes', form(['envelope', envelope([])], ['envelope', envelope([])]), 'INVALID_REQUEST', /Send one/, []],
  ['an envelope that is not JSON', form(['envelope', 'hello']), 'INVALID_JSON', /Send one JSON object/, []],
  ['an envelope that is an array', form(['envelope', '[]']), 'INVALID_REQUEST', /JSON object/, []],
  ['an unknown operation', form(['envelope', '{"op":"v1:No.Such"}'], ['file', text()]), 'UNKNOWN_OP', /registry/, []],
  ['an entry without its part', form(['envelope', envelope()]), 'PART_MISSING', /names the part "file"/, ['opencall:027']],
  ['a part that no entry names', form(['envelope', envelope()], ['file', text()], ['x', text()]), 'STRAY_PART', /leave the part out/, []],
  ['a part that no entry names, before the envelope', form(['x', text()], ['file', text()], ['envelope', envelope()]), 'STRAY_PART', /"x"/, []],
  ['the same part twice', form(['envelope', envelope()], ['file', text()], ['file', text()]), 'INVALID_REQUEST', /two parts/, []],
  ['the same attachment twice', form(['envelope', envelope([FILE, FILE])], ['file', text()]), 'INVALID_REQUEST', /Attach it once/, []],
  ['an undeclared attachment', form(['envelope', envelope([{ ...FILE, name: 'other' }])], ['file', text()]), 'UNKNOWN_MEDIA', /It takes: file, note/, ['opencall:023']],
  ['a required one left out', form(['envelope', envelope([])]), 'MEDIA_REQUIRED', /needs the attachment "file"/, ['opencall:188', 'opencall:192']],
  ['a type that is not accepted', form(['envelope', envelope([{ ...FILE, mimeType: 'text/html' }])], ['file', text()]), 'UNSUPPORTED_MEDIA_TYPE', /Send one of: text\/plain, image\/\*/, ['opencall:189', 'opencall:191']],
  ['a part whose own header says another type', form(['envelope', envelope()], ['file', text('%PDF', 'application/pdf')]), 'UNSUPPORTED_MEDIA_TYPE', /application\/pdf/, ['opencall:191']],
  ['a part whose own header says another type that is accepted', form(['envelope', envelope([{ ...FILE, mimeType: 'image/png' }])], ['file', text('x', 'image/gif')]), 'UNSUPPORTED_MEDIA_TYPE', /"file" is image\/gif, but "media" has image\/png\. Send the same/, ['opencall:191']],
  ['a part that says it is text and is to be a picture, before the envelope', form(['file', text()], ['envelope', envelope([{ ...FILE, mimeType: 'image/png' }])]), 'UNSUPPORTED_MEDIA_TYPE', /is text\/plain, but/, ['opencall:191']],
  ['a part of another type that is also too large, of which nothing need be read', form(['envelope', envelope([FILE, { name: 'note', mimeType: 'text/plain', part: 'n' }])], ['n', text('12345678901', 'image/png')]), 'UNSUPPORTED_MEDIA_TYPE', /"n" is image\/png/, ['opencall:191']],
  ['one above its own limit', form(['envelope', envelope([FILE, { name: 'note', mimeType: 'text/plain', part: 'n' }])], ['file', text()], ['n', text('12345678901')]), 'MEDIA_TOO_LARGE', /10 bytes/, ['opencall:190', 'opencall:191']],
  ['one above its own limit, before the envelope', form(['n', text('12345678901')], ['file', text()], ['envelope', envelope([FILE, { name: 'note', mimeType: 'text/plain', part: 'n' }])]), 'MEDIA_TOO_LARGE', /10 bytes/, ['opencall:190', 'opencall:191']],
  ['a hundred parts that no entry names', form(['envelope', envelope()], ...Array.from({ length: 101 }, (_, i): [string, Blob] => [`p${i}`, text()])), 'STRAY_PART', /leave the part out/, []],
] // biome-ignore format: a table

test.each(refused)('%s: refused, and nothing stays on disk', async (_, body, code, advice, ids) => {
  verifies('opencall:129', 'opencall:130', 'opencall:139', ...ids)
  const server = await startServer()

  const { requestId, message } = await expectRefusal(await server.send(body), 400, code)

  expect(requestId).toMatch(UUID)
  expect(message).toMatch(advice)
  await server.expectUnharmed()
})

test('a refusal of an upload carries the request id of its envelope', async () => {
  const server = await startServer()

  const response = await server.send(form(['envelope', envelope([FILE], { requestId: 'up-1' })], ['x', text()]))

  expect((await expectRefusal(response, 400, 'STRAY_PART')).requestId).toBe('up-1')
  await server.expectUnharmed()
})

test('an entry that names a part in a request without parts is refused', async () => {
  verifies('opencall:027')
  const server = await startServer()

  const response = await server.call({ op: OP, media: [FILE] })

  expect((await expectRefusal(response, 400, 'PART_MISSING')).message).toMatch(/no such part/)
  await server.expectUnharmed()
})

test('the parts before the envelope share one limit', async () => {
  const server = await startServer({ sizes: { uploadBytes: 1_000 } })
  const parts = [0, 1, 2].map((n): [string, Blob] => [`p${n}`, text('x'.repeat(400))])

  const response = await server.send(form(...parts, ['envelope', envelope()]))

  await expectRefusal(response, 400, 'MEDIA_TOO_LARGE')
  await server.expectUnharmed()
})

test('an upload that passes the checks of its bytes and fails those of its call leaves nothing either', async () => {
  const server = await startServer()
  const body = form(['envelope', JSON.stringify({ op: OP, args: 5, media: [FILE] })], ['file', text()])
  const late = form(['file', text()], ['envelope', JSON.stringify({ op: 'v1:Cards.Charge', args: { amount: 1 } })])

  await expectRefusal(await server.send(body), 400, 'INVALID_REQUEST')
  await expectRefusal(await server.send(late), 400, 'STRAY_PART')

  await server.expectUnharmed()
})

test.each([
  ['no boundary', 'multipart/form-data', 'x', 'INVALID_MULTIPART'],
  [
    'a boundary that is not there',
    'multipart/form-data; boundary=there',
    '--other\r\n\r\n--other--\r\n',
    'INVALID_MULTIPART',
  ],
  [
    'no end',
    'multipart/form-data; boundary=b',
    '--b\r\nContent-Disposition: form-data; name="envelope"\r\n\r\n{}',
    'INVALID_MULTIPART',
  ],
  [
    'a part without a name',
    'multipart/form-data; boundary=b',
    '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n',
    'INVALID_MULTIPART',
  ],
])('a multipart body with %s is refused', async (_, type, body, code) => {
  verifies('opencall:107', 'opencall:129')
  const server = await startServer()

  const response = await server.send(body, { 'Content-Type': type })

  await expectRefusal(response, 400, code)
  await server.expectUnharmed()
})

/** The head of an upload of this many bytes, and the first part's head. */
function beginUpload(socket: Socket, contentLength: number, first: string, more = ''): void {
  socket.write(
    `POST /call HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n` +
      `Content-Length: ${contentLength}\r\n\r\n${first}${more}`,
  )
}

const ENVELOPE_PART = `--b\r\nContent-Disposition: form-data; name="envelope"\r\n\r\n${envelope()}\r\n`
const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\nContent-Type: text/plain\r\n\r\n'

/** Reads until the other side closes. If this side still sends by then, it gets an error after the response. */
function readWhileSending(socket: Socket): Promise<string> {
  let all = ''
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      all += chunk.toString('latin1')
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(all))
  })
}

test('an attachment above its limit is refused while it comes, long before its end', async () => {
  verifies('opencall:190')
  const server = await startServer()
  const socket = await openSocket(server.port)
  const announced = 500_000_000
  let sent = 0

  beginUpload(socket, announced, ENVELOPE_PART, FILE_HEAD)
  const answered = readWhileSending(socket)
  const piece = Buffer.alloc(64 * 1024, 120)
  while (!socket.destroyed && sent < announced) {
    sent += piece.length
    const drained = new Promise((resolve) => socket.once('drain', resolve))
    if (!socket.write(piece)) await Promise.race([drained, answered])
  }
  const answer = await answered

  const got = JSON.parse(answer.slice(answer.indexOf('{')))
  expectRefusalEnvelope(Number(answer.slice(9, 12)), got, 400, 'MEDIA_TOO_LARGE')
  // The slot takes 1 MB; bytes in flight at the time of the refusal are counted too.
  expect(sent).toBeLessThan(50_000_000)
  await server.expectUnharmed()
})

test('a part that comes before its envelope is bounded, too', async () => {
  const server = await startServer({ sizes: { uploadBytes: 1_000 } })

  const response = await server.send(form(['file', text('x'.repeat(2_000))], ['envelope', envelope()]))

  expect((await expectRefusal(response, 400, 'MEDIA_TOO_LARGE')).message).toMatch(/1000 bytes/)
  await server.expectUnharmed()
})

test('an envelope part above its limit is refused', async () => {
  const server = await startServer({ sizes: { envelopeBytes: 1_000 } })

  const response = await server.send(form(['envelope', ' '.repeat(2_000) + envelope()]))

  expect((await expectRefusal(response, 400, 'MEDIA_TOO_LARGE')).message).toMatch(/1000 bytes/)
  await server.expectUnharmed()
})

test.each([
  ['after its envelope', ENVELOPE_PART + FILE_HEAD],
  ['before its envelope', FILE_HEAD],
])('an upload that is aborted %s leaves nothing on disk', async (_, head) => {
  const server = await startServer()
  const socket = await openSocket(server.port)

  beginUpload(socket, 900_000, head, 'x'.repeat(300_000))
  await fileAppears(server)
  socket.destroy()

  await vi.waitUntil(() => storedFiles(server.data).length === 0)
  await server.expectUnharmed()
})

async function fileAppears(server: Running): Promise<void> {
  await vi.waitUntil(() => storedFiles(server.data).length > 0)
}

test('an anonymous stranger fills no disk: without a credential a part before the envelope is refused', async () => {
  const { token, hash } = createToken()
  const server = await startServer({ auth: { tokens: [{ hash, kind: 'bearer', subject: 'ada', scopes: [] }] } })

  const response = await server.send(form(['file', text()], ['envelope', envelope()]))

  expect((await expectRefusal(response, 401, 'AUTH_REQUIRED')).message).toMatch(/envelope as the first part/)
  await server.expectUnharmed({ Authorization: `Bearer ${token}` })
})
