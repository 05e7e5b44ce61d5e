/** The WebSocket carrier passes the suites that all carriers of messages and of frames must pass. */
import { describe, expect, test } from 'vitest'
import type { Connection } from '../../../src/core/ports/session.ts'
import { describeFrames, type FrameReader } from '../../../src/testing/suites/frames/frames.ts'
import { describeMessages } from '../../../src/testing/suites/messages/messages.ts'
import { RawPeer } from './raw-peer.ts'
import { serveReader, serveSockets } from './serving.ts'

const runner = { describe, test, expect }
const DEDICATED_CLOSE = { 1000: 'complete', 4000: 'error' } as const

describeMessages(
  runner,
  'messages on a WebSocket',
  async (open, { maxBytes, log }) => {
    const { port, carrier, stop } = await serveSockets({ session: open, maxBytes, log })
    const { peer } = await RawPeer.connect(port, '/call')
    return {
      send: (message) => peer.send(message),
      async read() {
        const text = await peer.text()
        // A client responds to a close frame.
        if (text === undefined) peer.socket.end(RawPeer.frame(8, Buffer.of(0x03, 0xe9)))
        return text
      },
      async leave() {
        peer.socket.destroy()
      },
      close: () => carrier.close(60_000),
      async cleanup() {
        peer.socket.destroy()
        await stop()
      },
    }
  },
  { acknowledges: false },
)

describeFrames(runner, 'frames on a socket of their own', async () => {
  const { port, channel, stop } = await serveReader()
  const { peer } = await RawPeer.connect(port, '/streams/s')
  return { channel: await channel, reader: readerOf(peer, 0), cleanup: () => cleanUp(peer, stop) }
})

describeFrames(
  runner,
  'frames on a shared socket',
  async () => {
    const connected = Promise.withResolvers<Connection>()
    const { port, stop } = await serveSockets({
      session(connection) {
        connected.resolve(connection)
        return { receive() {}, refuse() {}, finish: async () => {}, close: async () => {} }
      },
    })
    const { peer } = await RawPeer.connect(port, '/call')
    const { frames, send, origin } = await connected.promise
    const stream = {
      id: 's',
      requestId: 'r',
      sessionId: 'x',
      operation: 'v1:it.flows',
      encoding: 'json',
      sealed: false,
      claim: async () => true,
      owner: 'o',
      origin,
    }
    const place = await frames?.place(stream)
    const channel = await place?.open?.()
    if (!channel) throw new Error('The connection carries no frames.')
    await send('about the stream', 'r')
    await peer.next()
    return { channel, reader: readerOf(peer, 4), cleanup: () => cleanUp(peer, stop) }
  },
  // The session tells the end, in the last message about the stream.
  { tellsEnd: false },
)

function readerOf(peer: RawPeer, prefixBytes: number): FrameReader {
  return {
    async next() {
      const message = await peer.next()
      return message?.payload.subarray(prefixBytes)
    },
    // It reads only when asked.
    pause() {},
    resume() {},
    leave: () => void peer.socket.destroy(),
    async ended() {
      const { payload } = (await peer.next()) ?? {}
      return DEDICATED_CLOSE[payload?.readUInt16BE() as keyof typeof DEDICATED_CLOSE]
    },
  }
}

async function cleanUp(peer: RawPeer, stop: () => Promise<void>): Promise<void> {
  peer.socket.destroy()
  await stop()
}
