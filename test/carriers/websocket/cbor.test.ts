/** Sessions with CBOR envelopes: the subprotocol `callplane.cbor`. */

import { operation } from 'callplane'
import { decode, Encoder } from 'cbor-x'
import { expect, test } from 'vitest'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { openSocket } from './client.ts'
import { counting } from './operations.ts'

const echo = operation('v1:it.echoes', { run: (args) => args })
const encoder = new Encoder({ useRecords: false })
const ZERO = Buffer.alloc(4)

const pack = (envelope: object) => Buffer.concat([ZERO, encoder.encode(envelope)])

async function openCbor(url: string, protocols = ['callplane.cbor']) {
  const client = await openSocket(`${url}/call`, { protocols })
  return {
    ...client,
    async unpacked() {
      const { bytes } = await client.next()
      return { channel: bytes?.readUInt32BE(), value: bytes && decode(bytes.subarray(4)) }
    },
  }
}

test('envelopes are CBOR in both directions', async () => {
  verifies('opencall:302')
  const { url } = await startSite({ operations: [echo] })
  const { socket, send, unpacked } = await openCbor(url)
  send(pack({ op: 'v1:it.echoes', args: { text: 'grüße', n: 1.5, list: [null, true] }, ctx: { requestId: 'r' } }))

  expect(socket.protocol).toBe('callplane.cbor')
  expect(await unpacked()).toEqual({
    channel: 0,
    value: { requestId: 'r', state: 'complete', result: { text: 'grüße', n: 1.5, list: [null, true] } },
  })
})

test('frames have the number of their channel where envelopes have zero', async () => {
  const { url } = await startSite({ operations: [counting] })
  const { send, unpacked, frame } = await openCbor(url)
  send(pack({ op: 'v1:clock.tick', args: { count: 1 }, ctx: { requestId: 'r' } }))
  const first = await unpacked()
  const { channel, payload } = await frame()
  const last = await unpacked()

  expect(first).toMatchObject({ channel: 0, value: { state: 'streaming', stream: { channel: 1 } } })
  expect([channel, payload.toString()]).toEqual([1, '{"n":1}'])
  expect(last).toMatchObject({ channel: 0, value: { state: 'complete' } })
})

test.each([
  ['a lone break code', Buffer.from('00000000ff', 'hex')],
  ['a frame', Buffer.concat([Buffer.of(0, 0, 0, 1), encoder.encode({ op: 'v1:it.echoes', args: {} })])],
  ['too short', Buffer.from('0000', 'hex')],
  ['text', '{"op":"v1:it.echoes","args":{}}'],
  ['deep nesting', Buffer.concat([ZERO, Buffer.alloc(50_000, 0x81)])],
])('a message that is %s gets an error envelope in CBOR, and the session goes on', async (_title, message) => {
  verifies('opencall:308')
  const { url } = await startSite({ operations: [echo] })
  const { send, unpacked } = await openCbor(url)
  send(message)
  const refused = await unpacked()
  send(pack({ op: 'v1:it.echoes', args: {} }))

  expect(refused).toMatchObject({ channel: 0, value: { state: 'error', error: { code: 'INVALID_CBOR' } } })
  expect(await unpacked()).toMatchObject({ channel: 0, value: { state: 'complete' } })
})

test('a small message that becomes large JSON is refused', async () => {
  const { url } = await startSite({ operations: [echo], sizes: { envelopeBytes: 10_000 } })
  const { send, unpacked } = await openCbor(url)
  // Each control character takes one byte in CBOR, and six in JSON.
  send(pack({ op: 'v1:it.echoes', args: { text: '\u0001'.repeat(5_000) } }))

  expect(await unpacked()).toMatchObject({ value: { error: { code: 'BODY_TOO_LARGE' } } })
})

test('the first subprotocol that the server knows is chosen; JSON has a name, too', async () => {
  const { url } = await startSite({ operations: [echo] })
  const { socket, call, envelope } = await openCbor(url, ['other', 'callplane.json', 'callplane.cbor'])
  call('v1:it.echoes', { a: 1 })

  expect(socket.protocol).toBe('callplane.json')
  expect((await envelope()).result).toEqual({ a: 1 })
})
