import { once } from 'node:events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import type { Handle, Part } from '../../src/core/ports/exchange.ts'
import { parseMultipart } from '../../src/wire/http/multipart.ts'
import { openSocket, readToClose, route, say, startCarrier, text } from './http-fixture.ts'

const limits = { maxParts: 8, maxHeaderBytes: 1_024 }

async function bytesOf(part: Part): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(part.bytes))
}

/** Answers with a line for each part. */
const list: Handle = async (exchange) => {
  const lines: string[] = []
  for await (const part of exchange.parts(limits)) {
    lines.push(`${part.name}|${part.mimeType}|${part.filename ?? ''}|${(await bytesOf(part)).toString('base64')}`)
  }
  return text(lines.join('\n'))
}

const head = (length: number, type = 'multipart/form-data; boundary=b') =>
  `POST /up HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`
const part = (disposition: string, content: string, more = '') =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`

test('a field and a file are the same kind of thing: named bytes', async () => {
  const { url } = await startCarrier([route('/up', { POST: list })])
  const form = new FormData()
  form.set('plain', 'grüße')
  form.set('file', new Blob([Buffer.of(0, 255, 13, 10, 45, 45)], { type: 'image/png' }), 'na"ïve.png')
  form.set('empty', '')

  const reply = await fetch(`${url}/up`, { method: 'POST', body: form })

  expect((await reply.text()).split('\n')).toEqual([
    `plain|text/plain||${Buffer.from('grüße').toString('base64')}`,
    'file|image/png|na"ïve.png|AP8NCi0t',
    'empty|text/plain||',
  ])
})

test('binary content without a file name stays as it is', async () => {
  const { port } = await startCarrier([route('/up', { POST: list })])
  const body = `${part('name=raw', '\xff\xfe\x00', 'Content-Type: Image/PNG; q=1\r\n')}--b--\r\n`

  const reply = await say(port, head(body.length) + body)

  expect(reply).toContain(`raw|image/png||${Buffer.of(255, 254, 0).toString('base64')}`)
})

test('parts with any content are read back unchanged, for every split of the body into pieces', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.constantFrom('\r\n--', '\r\n--b', '--b--', '\r\n\r\n', '\r', '\r\n--X-\r\n--XY').map((s) => Buffer.from(s)),
  )
  const parts = fc.array(fc.record({ name: fc.string({ minLength: 1 }), content: bytes }), { maxLength: 6 })
  const run = fc.asyncProperty(
    parts,
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
    async (sent, cuts) => {
      const quoted = (name: string) => name.replace(/[\\"]/g, '\\$&')
      fc.pre(sent.every(({ name }) => !/%(22|0D|0A)/i.test(name)))
      const body = Buffer.concat([
        ...sent.flatMap(({ name, content }) => [
          Buffer.from(`--XYZ\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n`),
          content,
          Buffer.from('\r\n'),
        ]),
        Buffer.from('--XYZ--'),
      ])
      let at = 0
      let turn = 0
      const pull = async () => {
        if (at >= body.length) return undefined
        const from = at
        at += cuts[turn++ % cuts.length] as number
        return body.subarray(from, at)
      }

      const received: { name: string; content: Uint8Array }[] = []
      for await (const part of parseMultipart('multipart/form-data; boundary="XYZ"', pull, limits)) {
        received.push({ name: part.name, content: await bytesOf(part) })
      }

      expect(received).toEqual(sent.map(({ name, content }) => ({ name, content: Buffer.from(content) })))
    },
  )
  await fc.assert(run, { numRuns: 300 })
})

test.each([
  ['another content type', 'application/json', '{}', 'must be multipart/form-data'],
  ['no boundary', 'multipart/form-data', '--b--', 'no usable boundary'],
  ['a body without the boundary', 'multipart/form-data; boundary=b', 'x'.repeat(5_000), 'does not start with'],
  ['an empty body', 'multipart/form-data; boundary=b', '', 'ends before'],
  ['no last boundary', 'multipart/form-data; boundary=b', part('name=a', '1'), 'ends before'],
  [
    'a boundary that runs on',
    'multipart/form-data; boundary=b',
    `${part('name=a', '1')}--bogus\r\n`,
    'neither a line break',
  ],
  ['a part without a name', 'multipart/form-data; boundary=b', `${part('filename=a', '1')}--b--`, 'no name'],
  ['a part without headers', 'multipart/form-data; boundary=b', '--b\r\n\r\nx\r\n--b--', 'not a header'],
  ['a line that is not a header', 'multipart/form-data; boundary=b', '--b\r\nhello\r\n\r\n\r\n--b--', 'not a header'],
  [
    'encoded content',
    'multipart/form-data; boundary=b',
    `${part('name=a', '1', 'Content-Transfer-Encoding: base64\r\n')}--b--`,
    'as they are',
  ],
  [
    'large part headers',
    'multipart/form-data; boundary=b',
    `${part('name=a', '1', `X: ${'x'.repeat(2_000)}\r\n`)}--b--`,
    'larger than',
  ],
  ['endless part headers', 'multipart/form-data; boundary=b', `--b\r\nX: ${'x'.repeat(2_000)}`, 'larger than'],
  [
    'a quote that never ends',
    'multipart/form-data; boundary=b',
    `${part(`name="${'\\\\'.repeat(400)}`, '1')}--b--`,
    'no name',
  ],
  [
    'too many parts',
    'multipart/form-data; boundary=b',
    `${part('name=a', '1').repeat(9)}--b--`,
    'more than the 8 parts',
  ],
  [
    'a long epilogue',
    'multipart/form-data; boundary=b',
    `${part('name=a', '1')}--b--${'x'.repeat(2_000)}`,
    'last boundary',
  ],
])('a multipart body with %s is refused', async (_, type, body, message) => {
  const { port } = await startCarrier([route('/up', { POST: list })])

  const reply = await say(port, head(body.length, type) + body)

  expect(reply).toMatch(/^HTTP\/1.1 400 [\s\S]*INVALID_MULTIPART/)
  expect(reply).toContain(message)
})

test('a part that is left half read does not hide the next', async () => {
  const names: string[] = []
  const skim: Handle = async (exchange) => {
    for await (const each of exchange.parts(limits)) {
      names.push(each.name)
      for await (const _ of each.bytes) break
    }
    return text('')
  }
  const { url } = await startCarrier([route('/up', { POST: skim })])
  const form = new FormData()
  form.set('large', new Blob([Buffer.alloc(1 << 20)]))
  form.set('small', 'x')

  await fetch(`${url}/up`, { method: 'POST', body: form })

  expect(names).toEqual(['large', 'small'])
})

test('a part that is read after the next was asked for is a bug that is named, not the bytes of another part', async () => {
  const body = `${part('name=a', '1')}${part('name=b', '2')}--b--`
  const chunks = [Buffer.from(body)]
  const parts = parseMultipart('multipart/form-data; boundary=b', async () => chunks.shift(), limits)

  const first = await parts.next()
  await parts.next()

  await expect(bytesOf(first.value as Part)).rejects.toMatchObject({ kind: 'internal' })
})

test('an upload is read only as fast as its consumer, and a consumer that stops can still respond', async () => {
  const reading = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const { server, port } = await startCarrier([
    route('/up', {
      POST: async (exchange) => {
        for await (const { bytes } of exchange.parts(limits)) {
          for await (const _ of bytes) {
            reading.resolve()
            await gate.promise
            return text('enough')
          }
        }
        return text('never')
      },
    }),
  ])
  const [socket, [ours]] = await Promise.all([openSocket(port), once(server, 'connection')])
  const reply: Buffer[] = []
  socket.on('data', (chunk) => reply.push(chunk)).on('error', () => socket.destroy())
  const closed = new Promise((resolve) => socket.on('close', resolve))

  socket.write(head(1e9) + part('name=a; filename=a', ''))
  const block = Buffer.alloc(1 << 20)
  const flood = () => {
    while (!socket.destroyed && socket.write(block));
  }
  socket.on('drain', flood)
  flood()
  await reading.promise
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate)
  const taken = ours.bytesRead
  gate.resolve()
  await closed

  expect(taken).toBeLessThan(1 << 20)
  expect(Buffer.concat(reply).toString()).toMatch(/^HTTP\/1.1 200 [\s\S]*Connection: close[\s\S]*enough/)
  expect(ours.bytesRead).toBeLessThan(8 << 20)
})

test('an upload that breaks off is a fault where its bytes are read', async () => {
  const seen = Promise.withResolvers<Fault>()
  const reading = Promise.withResolvers<void>()
  const { port } = await startCarrier([
    route('/up', {
      POST: async (exchange) => {
        try {
          for await (const each of exchange.parts(limits)) for await (const _ of each.bytes) reading.resolve()
        } catch (fault) {
          seen.resolve(fault as Fault)
        }
        return text('nobody hears this')
      },
    }),
  ])
  const socket = await openSocket(port)

  socket.write(head(5_000) + part('name=a; filename=a', 'x'.repeat(2_000)))
  await reading.promise
  socket.destroy()

  expect(await seen.promise).toMatchObject({ kind: 'malformed', code: 'BODY_INCOMPLETE' })
})

/** Sends the request up to its content at once, then five bytes every 20 ms. */
async function drip(port: number, start: string, rest: string): Promise<string> {
  const socket = await openSocket(port)
  const reply = readToClose(socket)
  socket.write(head(start.length + rest.length) + start)
  let at = 0
  const dripping = setInterval(() => {
    socket.write(rest.slice(at, at + 5))
    at += 5
    if (at >= rest.length || !socket.writable) clearInterval(dripping)
  }, 20)
  return reply.finally(() => clearInterval(dripping))
}

const untilContent = '--b\r\nContent-Disposition: form-data; name=a\r\n\r\n'
const content = `${'x'.repeat(150)}\r\n--b--`

test('an upload may take long but not be silent', async () => {
  const { port } = await startCarrier([route('/up', { POST: list })], { idleTimeoutMs: 400, bodyTimeoutMs: 200 })
  const silent = await openSocket(port)
  const silentReply = readToClose(silent)

  silent.write(head(1_000) + untilContent)

  expect(await drip(port, untilContent, content)).toMatch(/^HTTP\/1.1 200 /)
  expect(await silentReply).toMatch(/^HTTP\/1.1 400 [\s\S]*BODY_TIMEOUT/)
})

test.each([
  ['a head', '', untilContent.repeat(2) + content, {}],
  ['the part that is a text', untilContent, content, { textPart: 'a' }],
])('%s may not drip', async (_, start, rest, more) => {
  const read: Handle = async (exchange) => {
    for await (const each of exchange.parts({ ...limits, ...more })) await bytesOf(each)
    return text('all of it')
  }
  const { port } = await startCarrier([route('/up', { POST: read })], { bodyTimeoutMs: 100 })

  expect(await drip(port, start, rest)).toMatch(/^HTTP\/1.1 400 [\s\S]*BODY_TIMEOUT/)
})

test('an upload below the slowest rate is cut off, however regularly it sends', async () => {
  const slowestUpload = { bytes: 10_000, inMs: 100 }
  const { port } = await startCarrier([route('/up', { POST: list })], { slowestUpload })

  expect(await drip(port, untilContent, content)).toMatch(/^HTTP\/1.1 400 [\s\S]*BODY_TIMEOUT/)
})

test.each([
  [1_000, 200],
  [2_000, 400],
])('after a boundary %i spaces are answered with %i: they count as header bytes', async (spaces, status) => {
  const { port } = await startCarrier([route('/up', { POST: list })])
  const body = `--b${' '.repeat(spaces)}${untilContent.slice(3)}x\r\n--b--`

  expect(await say(port, head(body.length) + body)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})
