/** Peers that do not say who they are, or do not finish a message: they cannot keep others out. */
import { operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { Fault } from '../../../src/core/fault.ts'
import { decodeCbor } from '../../../src/wire/cbor/decode.ts'
import { encodeCbor } from '../../../src/wire/cbor/encode.ts'
import { verifies } from '../../requirements.ts'
import { createStepClock, startSite } from '../../scenarios/server.ts'
import { openSocket } from './client.ts'
import { RawPeer } from './raw-peer.ts'
import { serveSockets } from './serving.ts'
import { withTokens } from './tokens.ts'

const whoAmI = operation('v1:it.knows', { run: (_args, { caller }) => caller.subject })

async function startWithTokens() {
  const { ann, auth } = withTokens()
  const clock = createStepClock()
  const site = await startSite({ operations: [whoAmI], auth, clock })
  const port = Number(new URL(site.url).port)
  const connect = async (headers = '') => {
    const { peer, head } = await RawPeer.connect(port, '/call', headers)
    onTestFinished(() => void peer.socket.destroy())
    return { peer, head }
  }
  const proof = { auth: { iss: 'i', sub: 'ann', credentialType: 'bearer', credential: ann } }
  return { ...site, ann, clock, connect, proof }
}

test('a peer that has sent no credential after 10 seconds gets an error envelope and the end of its connection', async () => {
  verifies('opencall:308')
  const { clock, connect } = await startWithTokens()
  const { peer } = await connect()
  await peer.send(JSON.stringify({ op: 'v1:it.knows', args: {} }))
  const refused = JSON.parse((await peer.text()) ?? 'null')
  clock.advance(9_999)
  await peer.send(JSON.stringify({ op: 'v1:it.knows', args: {} }))
  await peer.text()
  clock.advance(1)
  const said = JSON.parse((await peer.text()) ?? 'null')
  const closing = await peer.next()

  expect([refused, said]).toMatchObject([
    { error: { code: 'AUTH_REQUIRED' } },
    { state: 'error', error: { code: 'AUTH_REQUIRED', message: expect.stringContaining('in time') } },
  ])
  expect([closing?.opcode, closing?.payload.readUInt16BE()]).toEqual([8, 4001])
})

test.each(['header', 'message', 'message in CBOR'])('a peer that is known by a %s stays', async (by) => {
  const { url, ann, clock, proof } = await startWithTokens()
  const headers = by === 'header' ? { authorization: `Bearer ${ann}` } : {}
  const cbor = by === 'message in CBOR'
  const { call, send, next, envelope } = await openSocket(`${url}/call`, {
    headers,
    ...(cbor && { protocols: ['callplane.cbor'] }),
  })
  const ask = () => {
    if (cbor) send(encodeCbor({ op: 'v1:it.knows', args: {}, ...proof }, 4))
    else call('v1:it.knows', {}, undefined, by === 'message' ? proof : {})
  }
  const hear = async () =>
    cbor ? decodeCbor(((await next()).bytes as Buffer).subarray(4)) : ((await envelope()) as unknown)
  ask()
  expect(await hear()).toMatchObject({ result: 'ann' })
  clock.advance(20_000)
  ask()

  expect(await hear()).toMatchObject({ result: 'ann' })
})

test('a peer that leaves makes room for another', async () => {
  const { port, stop } = await serveSockets({ maxUnknown: 1, admit: async (peer) => ({ peer, isKnown: false }) })
  onTestFinished(stop)
  const first = await RawPeer.connect(port, '/call')
  const refused = await RawPeer.connect(port, '/call')
  first.peer.socket.destroy()
  let last = await RawPeer.connect(port, '/call')
  while (!last.head) last = await RawPeer.connect(port, '/call')
  last.peer.socket.destroy()

  expect([refused.head, last.head]).toEqual(['', expect.stringContaining('101')])
})

test('a message in fragments that is not finished ends the connection, although its peer responds to pings', async () => {
  const told: Fault[] = []
  const { port, stop } = await serveSockets({
    pingMs: 20,
    session: ({ send }) => ({
      receive() {},
      refuse(fault) {
        told.push(fault)
        void send(fault.code)
      },
      finish: async () => {},
      close: async () => {},
    }),
  })
  onTestFinished(stop)
  const { peer } = await RawPeer.connect(port, '/call')
  await peer.write(Buffer.concat([RawPeer.frame(1, '{}'), RawPeer.frame(1, '{', false)]))
  const seen: string[] = []
  for (let next = await peer.next(); next; next = await peer.next()) {
    if (next.opcode === 9) await peer.write(RawPeer.frame(10, next.payload))
    else seen.push(next.opcode === 8 ? String(next.payload.readUInt16BE()) : String(next.payload))
    if (next.opcode === 8) peer.socket.end()
  }

  expect(seen).toEqual(['BODY_TIMEOUT', '4002'])
  expect(told).toHaveLength(1)
})

test('a peer that sends message after message in fragments stays', async () => {
  let received = 0
  const { port, stop } = await serveSockets({
    pingMs: 200,
    session: () => ({ receive: () => void received++, refuse() {}, finish: async () => {}, close: async () => {} }),
  })
  onTestFinished(stop)
  const { peer } = await RawPeer.connect(port, '/call')
  await peer.write(RawPeer.frame(1, '{', false))
  for (let pings = 0; pings < 3; pings++) {
    const ping = await peer.next()
    expect(ping?.opcode).toBe(9)
    await peer.write(Buffer.concat([RawPeer.frame(10, ping?.payload ?? ''), RawPeer.frame(0, '}')]))
    await peer.write(RawPeer.frame(1, '{', false))
  }
  peer.socket.destroy()

  expect(received).toBeGreaterThanOrEqual(2)
})
