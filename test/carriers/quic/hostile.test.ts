/** Clients that break the rules of HTTP/3 and of raw streams: each gets an answer or a reset, and others are served. */
import { once } from 'node:events'
import { createServer as createTcpServer } from 'node:net'
import { createServer, jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { encodeRecord } from '../../../src/wire/frames/records.ts'
import { describeWith, pythonClients, quicLibrary, together } from '../../engines/engines.ts'
import { freePort } from '../../engines/free-port.ts'
import { verifies } from '../../requirements.ts'
import { temporaryFolder } from '../../scenarios/server.ts'
import { certificate, connectHttp3, connectRaw } from './client.ts'
import { type ReadRecord, recordsOf } from './records.ts'
import { calling, http3Requests, rawStreams, startQuicSite, textOf } from './site.ts'

vi.setConfig({ testTimeout: 60_000 })

const LARGE = 100_000_000
const PIECE = Buffer.alloc(1_000_000, 'x')

const any = jsonSchema({ type: 'object' })
const started = Promise.withResolvers<AbortSignal>()
const echo = operation('v1:text.echo', { args: any, result: any, run: async (args) => args as object })
const hang = operation('v1:text.hang', {
  args: any,
  result: any,
  async run(_args, { signal }) {
    started.resolve(signal)
    await once(signal, 'abort')
    return {}
  },
})
const measure = operation('v1:text.measure', {
  args: jsonSchema<{ text: string }>({ type: 'object' }),
  run: ({ text }) => text.length,
})
const operations = [echo, hang, measure]

/** Sends an envelope of 100 MB on a raw stream, then another record. Returns both answers. */
async function sendLarge(rawPort: number, then: Uint8Array, { answeredHalfWay }: { answeredHalfWay: boolean }) {
  const client = await connectRaw(rawPort)
  const stream = client.openStream()
  const records = recordsOf(stream)
  const answer = async () => {
    const { result, error } = JSON.parse(textOf((await records.next()) as ReadRecord))
    return error?.code ?? result
  }
  const send = async (...pieces: (string | Uint8Array)[]) => {
    for (const piece of pieces) if (!stream.write(piece)) await once(stream, 'drain')
  }
  const [before, after] = ['{"op":"v1:text.measure","args":{"text":"', '"}}']
  const header = Buffer.from([1, 0, 0, 0, 0])
  header.writeUInt32BE(before.length + LARGE + after.length, 1)
  const half = Array<Buffer>(LARGE / PIECE.length / 2).fill(PIECE)
  await send(header, before, ...half)
  const answers = answeredHalfWay ? [await answer()] : []
  await send(...half, after, then)
  while (answers.length < 2) answers.push(await answer())
  await client.close()
  return answers
}

const code = (text: string) => JSON.parse(text).error.code

describeWith(together(quicLibrary, pythonClients), 'hostile clients of QUIC', () => {
  test('a body of 30 MB is refused with an envelope while it arrives', async () => {
    const { port } = await startQuicSite({ operations })
    const client = await connectHttp3(port)

    const announced = await client.send('/call', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'x'.repeat(30_000_000),
    })
    const stream = client.open('/call', { ':method': 'POST', 'content-type': 'application/json' })
    const response = once(stream, 'response')
    for (let sent = 0; sent < 30; sent++) stream.write(Buffer.alloc(1_000_000, 0x20))
    const [fields] = await response
    const after = await client.send('/.well-known/ops')
    await client.close()

    expect([announced.status, code(await announced.text())]).toEqual([400, 'BODY_TOO_LARGE'])
    expect(fields[':status']).toBe('400')
    expect(after.status).toBe(200)
  })

  test('wrong UTF-8, deep nesting, an unknown host and headers above the limit are refused', async ({ signal }) => {
    const { port } = await startQuicSite({ operations })
    const json = { 'content-type': 'application/json' }
    const post = (body: string, headers = {}) => ({
      method: 'POST',
      path: '/call',
      headers: { ...json, ...headers },
      body,
    })

    const replies = await http3Requests(
      port,
      [
        post('{"op":'),
        post('['.repeat(100_000)),
        post('{}', { ':authority': 'evil.example' }),
        post('{}', { origin: 'https://evil.example' }),
        post('{}', { 'x-long': 'x'.repeat(17_000) }),
        { path: 'no-slash' },
        { method: 'PUT', path: '/call', body: 'x' },
        calling('v1:text.echo', { a: 1 }),
      ],
      signal,
    )

    expect(replies.map(({ status }) => status)).toEqual([400, 400, 403, 403, 400, 404, 405, 200])
  })

  test.each<[string, Record<string, string | string[]>]>([
    ['a credential', { authorization: ['Bearer a', 'Bearer b'] }],
    ['a type', { 'content-type': ['application/json', 'text/plain'] }],
    ['a host, beside the authority', { host: '127.0.0.1' }],
  ])('%s that is sent twice is refused', async (_what, headers) => {
    const { port } = await startQuicSite({ operations })
    const client = await connectHttp3(port)
    const stream = client.open('/.well-known/ops', headers, false)
    const [[fields], [body]] = await Promise.all([once(stream, 'response'), once(stream, 'data')])
    await client.close()

    expect([fields[':status'], code(String(body))]).toEqual(['400', 'REPEATED_HEADER'])
  })

  test('a client that leaves cancels its call, and one that resets its request harms nobody', async () => {
    const { port } = await startQuicSite({ operations })
    const first = await connectHttp3(port)
    const second = await connectHttp3(port)

    const waiting = first.send('/call', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ op: 'v1:text.hang', args: {} }),
    })
    waiting.catch(() => undefined)
    const running = await started.promise
    const canceled = once(running, 'abort')
    await first.close()
    await canceled
    const half = second.open('/call', { ':method': 'POST', 'content-type': 'application/json' })
    half.write('{"op":')
    half.close(0x10c)

    expect((await second.send('/.well-known/ops')).status).toBe(200)
    await second.close()
  })

  test('bytes that are no records get an error envelope, then a reset', async () => {
    verifies('opencall:328')
    const { rawPort } = await startQuicSite({ operations })
    const client = await connectRaw(rawPort)
    const stream = client.openStream()
    const reset = once(stream, 'error')

    stream.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
    const record = await recordsOf(stream).next()
    const [error] = await reset
    await client.close()

    expect(record && code(textOf(record))).toBe('INVALID_RECORD')
    expect(String(error)).toContain('StreamReset')
  })

  test('each kind of bad message is answered, and the stream goes on where it can', async ({ signal }) => {
    const { rawPort } = await startQuicSite({ operations, sizes: { envelopeBytes: 10_000 } })
    const good = encodeRecord('envelope', JSON.stringify({ op: 'v1:text.echo', args: {} }))
    const huge = Buffer.concat([encodeRecord('envelope', 'x'.repeat(20_000)), good])
    const cut = good.subarray(0, good.length - 3)
    const garbage = encodeRecord('envelope', Uint8Array.of(0xff, 0xfe, 0, 0x80))
    const deep = encodeRecord('envelope', '['.repeat(9_000))
    const frame = Buffer.concat([encodeRecord('frame', 'x'), encodeRecord('heartbeat'), good])

    const { streams } = await rawStreams(rawPort, [huge, cut, garbage, deep, frame], 0, signal)

    const answers = streams.map(({ records }) =>
      records.map((record) => JSON.parse(textOf(record))).map(({ state, error }) => error?.code ?? state),
    )
    expect(answers).toEqual([
      ['BODY_TOO_LARGE', 'complete'],
      ['BODY_INCOMPLETE'],
      ['INVALID_UTF8'],
      [expect.stringMatching(/./)],
      ['INVALID_RECORD', 'complete'],
    ])
  })

  test('an envelope of 100 MB is refused while it arrives, or taken if the limit says so; the next one is read', async () => {
    const strict = await startQuicSite({ operations })
    const generous = await startQuicSite({ operations, sizes: { envelopeBytes: 2 * LARGE } })
    const next = encodeRecord('envelope', JSON.stringify({ op: 'v1:text.echo', args: { next: true } }))

    const refused = await sendLarge(strict.rawPort, next, { answeredHalfWay: true })
    const taken = await sendLarge(generous.rawPort, next, { answeredHalfWay: false })

    expect(refused).toEqual(['BODY_TOO_LARGE', { next: true }])
    expect(taken).toEqual([LARGE, { next: true }])
  })

  test('another ALPN is refused in the handshake', async () => {
    const { rawPort } = await startQuicSite({ operations })

    await expect(connectRaw(rawPort, ['other/1'])).rejects.toThrow()
  })

  test('a silent connection is closed', async () => {
    const { rawPort } = await startQuicSite({ operations, quic: { port: 0, rawPort: 0, idleTimeoutMs: 500 } })
    const client = await connectRaw(rawPort)
    const closed = once(client, 'close')

    await closed
  })

  test('a server without a certificate, with a bad port or on a taken port does not start', async () => {
    const { cert, key } = certificate()
    const { port } = await startQuicSite({ operations })
    const start = (options: object) => createServer({ operations, data: temporaryFolder(), ...options })

    await expect(start({ quic: { port: 0 } })).rejects.toThrow('quic needs a certificate')
    await expect(start({ tls: { cert, key }, quic: { port: -1 } })).rejects.toThrow('quic.port must be a UDP port')
    await expect(start({ tls: { cert, key }, quic: { port: 0, rawPort: 70_000 } })).rejects.toThrow('quic.rawPort')
    await expect(start({ tls: { cert, key }, quic: { port: 0, host: '0.0.0.0' } })).rejects.toThrow('loopback only')
    await expect(start({ tls: { cert, key }, quic: { port } })).rejects.toThrow(`Cannot open QUIC on 127.0.0.1:${port}`)
  })

  test('the TCP port of the same number stays free for HTTPS', async () => {
    // Chosen before: of a port that the system chose for UDP, TCP may be in use by another program.
    const port = await freePort()
    await startQuicSite({ operations, quic: { port } })

    const tcp = createTcpServer().listen(port, '127.0.0.1')
    await once(tcp, 'listening')
    tcp.close()
  })

  test('closing finishes the requests that are running', async ({ signal }) => {
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const held = operation('v1:text.held', {
      args: any,
      result: any,
      async run() {
        begun.resolve()
        await gate.promise
        return { held: true }
      },
    })
    const site = await startQuicSite({ operations: [held] })
    const answer = http3Requests(site.port, [calling('v1:text.held')], signal)
    await begun.promise

    const closed = site.close(10_000)
    gate.resolve()

    expect((await answer).map(({ status }) => status)).toEqual([200])
    await closed
  })
})
