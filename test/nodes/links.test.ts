/** Links between nodes: pipes over real sockets, who may connect, and what silence, loss and garbage do. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import type { PipeMessage } from '../../src/core/ports/peers.ts'
import { encode, KIND } from '../../src/stores/postgres/links/wire.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createCertificate } from '../fixtures/tls.ts'
import { acceptAll, LinkedCluster, openPipe, type PipeEnd, putInFront } from './cluster.ts'

const BEAT_MS = 2_000

/** Lets the bytes that are under way arrive. */
const turns = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Bytes as text, which is quicker to compare. */
const readable = (messages: readonly PipeMessage[]) =>
  messages.map((message) => (message instanceof Uint8Array ? Buffer.from(message).toString('latin1') : message))

test('text, bytes and objects arrive in order in both directions, also large ones', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const accepted = acceptAll(other)
  const large = randomBytes(5_000_000)
  const messages = ['ü😀', '', new Uint8Array([0, 255]), new Uint8Array(large), { after: null }, { taken: 3 }]

  const here = await openPipe(one, other)
  for (const message of messages) here.pipe.send(message)
  const [there] = accepted as [PipeEnd]
  await there.count(messages.length)
  for (const message of there.received) there.pipe.send(message)

  expect(readable(there.received)).toEqual(readable(messages))
  expect(readable(await here.count(messages.length))).toEqual(readable(messages))
})

test('a pipe that one side closes is closed on the other after its messages, and the others stay', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const accepted = acceptAll(other)
  const [first, second] = [await openPipe(one, other), await openPipe(one, other)]
  const [near, far] = accepted as [PipeEnd, PipeEnd]

  first.pipe.send('last')
  first.pipe.close()
  first.pipe.send('too late')
  await near.closed()
  far.pipe.send('still here')
  await second.count(1)
  far.pipe.close()
  await second.closed()

  expect(near.received).toEqual(['last'])
  expect(second.received).toEqual(['still here'])
})

test('many pipes of both directions share one connection', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const middles = [await putInFront(one), await putInFront(other)] as const
  const accepted = [acceptAll(one), acceptAll(other)] as const

  const first = await openPipe(one, other)
  const more = await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => (n % 2 ? openPipe(one, other) : openPipe(other, one))),
  )
  for (const [n, { pipe }] of [first, ...more].entries()) for (const at of ['a', 'b', 'c']) pipe.send(`${n} ${at}`)
  const received = await Promise.all(accepted.flat().map((end) => end.count(3)))

  expect(middles[0].connections + middles[1].connections).toBe(1)
  expect([accepted[0].length, accepted[1].length]).toEqual([500, 501])
  const expected = Array.from({ length: 1_001 }, (_, n) => [`${n} a`, `${n} b`, `${n} c`])
  expect(received.toSorted((a, b) => Number.parseInt(String(a), 10) - Number.parseInt(String(b), 10))).toEqual(expected)
})

test('two nodes that connect to each other at the same moment both get their pipes', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const accepted = [acceptAll(one), acceptAll(other)] as const

  const [there, here] = await Promise.all([openPipe(one, other), openPipe(other, one)])
  there.pipe.send('to the other')
  here.pipe.send('to the one')

  expect(await accepted[1][0]?.count(1)).toEqual(['to the other'])
  expect(await accepted[0][0]?.count(1)).toEqual(['to the one'])
})

test('a node that refuses, that is gone, or that has no links, gives no pipe', async () => {
  const cluster = new LinkedCluster()
  const [one, refusing, gone, silent] = [
    await cluster.add(),
    await cluster.add(),
    await cluster.add(),
    await cluster.add(),
  ]
  refusing.links.accept(async () => false)
  cluster.remove(gone)
  silent.about = {}

  expect(await one.links.open('stream', refusing.links.here)).toBe(undefined)
  expect(await one.links.open('stream', gone.links.here)).toBe(undefined)
  expect(await one.links.open('stream', silent.links.here)).toBe(undefined)
  expect(await one.links.open('stream', one.links.here)).toBe(undefined)
  expect(one.logged.filter(({ level }) => level === 'warn')).toEqual([])
})

test('the pipes of a connection that is cut are closed on both sides, and the next pipe gets a new one', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const middle = await putInFront(other)
  const accepted = acceptAll(other)
  const here = await openPipe(one, other)

  middle.cut()
  await Promise.all([here.closed(), accepted[0]?.closed()])
  const again = await openPipe(one, other)
  again.pipe.send('back')

  expect(await accepted[1]?.count(1)).toEqual(['back'])
  expect(middle.connections).toBe(2)
})

test('a node that is silent for 8 seconds is given up, and one that only has nothing to say is not', async () => {
  const cluster = new LinkedCluster()
  const clock = createManualClock()
  const [one, other] = [await cluster.add(clock), await cluster.add(clock)]
  const middle = await putInFront(other)
  acceptAll(other)
  const here = await openPipe(one, other)

  for (let beats = 0; beats < 20; beats++) {
    clock.advance(BEAT_MS)
    await turns()
  }
  const stayed = !here.pipe.signal.aborted
  middle.silence()
  await turns()
  for (let beats = 0; beats < 5; beats++) clock.advance(BEAT_MS)
  await here.closed()

  expect(stayed).toBe(true)
  expect(one.logged).toContainEqual(expect.objectContaining({ level: 'warn' }))
})

test('a connection without pipes is closed after half a minute, and opened again when it is needed', async () => {
  const cluster = new LinkedCluster()
  const clock = createManualClock()
  const [one, other] = [await cluster.add(clock), await cluster.add(clock)]
  const middle = await putInFront(other)
  const accepted = acceptAll(other)
  const here = await openPipe(one, other)
  const idle = async () => {
    for (let beats = 0; beats < 20; beats++) {
      clock.advance(BEAT_MS)
      await turns()
    }
  }

  await idle()
  const used = await openPipe(one, other)
  here.pipe.close()
  used.pipe.close()
  await idle()
  const again = await openPipe(one, other)
  again.pipe.send('again')

  expect(await accepted[2]?.count(1)).toEqual(['again'])
  expect(middle.connections).toBe(2)
})

test('a message that is too large closes its pipe, and no other', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const accepted = acceptAll(other)
  const [first, second] = [await openPipe(one, other), await openPipe(one, other)]

  first.pipe.send(new Uint8Array(64 * 1024 * 1024 + 1))
  await accepted[0]?.closed()
  second.pipe.send('fits')

  expect(first.pipe.signal.aborted).toBe(true)
  expect(await accepted[1]?.count(1)).toEqual(['fits'])
})

test('a process that the database does not list cannot open a link', async () => {
  const cluster = new LinkedCluster()
  const [stranger, node] = [await cluster.add(), await cluster.add()]
  const accepted = acceptAll(node)

  // It still knows the address and the public key of the node.
  const others = new LinkedCluster()
  cluster.remove(stranger)
  const spy = await others.add()
  await others.add().then((shown) => Object.assign(shown, { about: node.about }))
  const pipe = await spy.links.open('stream', node.links.here)

  expect(pipe).toBe(undefined)
  expect(accepted).toEqual([])
})

test('a node does not talk to a process with another key at the address of a node', async () => {
  const cluster = new LinkedCluster()
  const [one, other, impostor] = [await cluster.add(), await cluster.add(), await cluster.add()]
  const accepted = acceptAll(impostor)
  other.about = { ...other.about, address: impostor.about.address as string }

  const opened = [await one.links.open('a', other.links.here), await one.links.open('b', other.links.here)]

  expect(opened).toEqual([undefined, undefined])
  expect(accepted).toEqual([])
  // Once for the address, and it says what to open.
  expect(one.logged.filter(({ level }) => level === 'warn')).toMatchObject([
    { fields: { address: impostor.about.address }, message: expect.stringContaining('--node-address') },
  ])
})

test('a server with a certificate instead of the secret is not trusted', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  using certificate = createCertificate()
  const { cert, key } = certificate
  // It speaks as a node does, and accepts every pipe.
  const server = createTlsServer({ cert, key }, (socket) => {
    socket.on('error', () => {})
    socket.write(encode(KIND.beat, 0) as Buffer)
    socket.on('data', () => socket.write(encode(KIND.accepted, 1) as Buffer))
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  other.about = { ...other.about, address: `127.0.0.1:${(server.address() as { port: number }).port}` }

  expect(await one.links.open('stream', other.links.here)).toBe(undefined)
})

test('garbage is cut off, and so is TLS without the secret', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  acceptAll(other)
  const cutOff = (socket: Socket) => {
    socket.on('error', () => {})
    socket.resume()
    return new Promise<void>((resolve) => socket.once('close', () => resolve()))
  }
  const send = (bytes: string | Buffer) => {
    const socket = connect(other.port, '127.0.0.1')
    socket.write(bytes)
    return cutOff(socket)
  }

  await Promise.all([
    send('GET / HTTP/1.1\r\nHost: nodes\r\n\r\n'),
    send(randomBytes(1_000_000)),
    // A TLS record whose length is the largest, with a handshake that says that it is larger still.
    send(Buffer.concat([Buffer.from('160301ffff01ffffff', 'hex'), randomBytes(70_000)])),
    cutOff(connectTls({ host: '127.0.0.1', port: other.port, rejectUnauthorized: false })),
    cutOff(
      connectTls({
        host: '127.0.0.1',
        port: other.port,
        ciphers: 'TLS_AES_128_GCM_SHA256',
        minVersion: 'TLSv1.3',
        checkServerIdentity: () => undefined,
        pskCallback: () => ({ identity: one.links.here, psk: randomBytes(32) }),
      }),
    ),
  ])

  await openPipe(one, other)
})

test('a crowd of silent connections does not keep a node out, and most of the crowd is cut off', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  acceptAll(other)
  let open = 0
  const sockets = Array.from({ length: 300 }, () => {
    const socket = connect(other.port, '127.0.0.1', () => open++)
    socket.on('error', () => {})
    socket.on('close', () => open--)
    return socket
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))

  await openPipe(one, other)

  await expect.poll(() => open).toBeLessThanOrEqual(64)
})

test('a node that closes ends its pipes after their messages', async () => {
  const cluster = new LinkedCluster()
  const [one, other] = [await cluster.add(), await cluster.add()]
  const accepted = acceptAll(other)
  const here = await openPipe(one, other)

  for (let n = 0; n < 1_000; n++) accepted[0]?.pipe.send(`frame ${n}`)
  await other.links.close()
  await here.closed()

  expect(here.received).toHaveLength(1_000)
  expect(await one.links.open('stream', other.links.here)).toBe(undefined)
})
