/** Raw QUIC passes the suites for messages and for frames. */
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { createRawCarrier, loadQuicLibrary } from '../../../src/carriers/quic/index.ts'
import type { NewStream } from '../../../src/core/ports/frames.ts'
import type { Connection, OpenSession } from '../../../src/core/ports/session.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'
import { describeFrames } from '../../../src/testing/suites/frames/frames.ts'
import { describeMessages } from '../../../src/testing/suites/messages/messages.ts'
import { encodeRecord } from '../../../src/wire/frames/records.ts'
import { describeWith, quicLibrary } from '../../engines/engines.ts'
import { type ClientStream, certificate, connectRaw } from './client.ts'
import { recordsOf } from './records.ts'
import { startRelay } from './relay.ts'

const runner = { describe, test, expect }

const NEW_STREAM: NewStream = {
  id: 'i-1',
  requestId: 'r-1',
  sessionId: 's-1',
  operation: 'v1:device.watch',
  encoding: 'json',
  sealed: false,
  claim: async () => true,
  owner: 'main|ada',
  origin: 'https://127.0.0.1',
}

async function serveRaw(open: OpenSession, maxBytes: number, log = createMemoryLog([]), bodyTimeoutMs = 30_000) {
  const carrier = createRawCarrier({
    library: loadQuicLibrary(),
    tls: certificate(),
    host: '127.0.0.1',
    port: 0,
    alpn: 'callplane/1',
    open,
    origin: () => 'https://127.0.0.1',
    begin: ({ requestId }) => JSON.stringify({ requestId }),
    end: ({ requestId }, fault) => JSON.stringify({ requestId, ...(fault && { error: fault.code }) }),
    maxBytes,
    bodyTimeoutMs,
    log,
  })
  return { carrier, port: (await carrier.listen()).port }
}

describeWith(quicLibrary, 'raw QUIC', () => {
  describeMessages(
    runner,
    'messages on a QUIC stream',
    async (open, { maxBytes, log }) => {
      const { carrier, port } = await serveRaw(open, maxBytes, log)
      const client = await connectRaw(port)
      const stream: ClientStream = client.openStream()
      stream.on('error', () => undefined)
      const records = recordsOf(stream)
      return {
        async send(message) {
          const content = typeof message === 'string' ? message : Uint8Array.from(message)
          if (!stream.write(encodeRecord('envelope', content))) await once(stream, 'drain')
        },
        async read() {
          const record = await records.next()
          return record && new TextDecoder().decode(record.content)
        },
        leave: async () => stream.close(1),
        close: () => carrier.close(10_000),
        async cleanup() {
          await client.close()
          await carrier.close(0)
        },
      }
    },
    { acknowledges: false },
  )

  describeFrames(runner, 'frames on a QUIC stream', async () => {
    const opened = Promise.withResolvers<Connection>()
    const { carrier, port } = await serveRaw((connection) => {
      opened.resolve(connection)
      return { receive() {}, refuse() {}, async finish() {}, async close() {} }
    }, 1_000)
    const relay = await startRelay(port)
    const client = await connectRaw(relay.port)
    const request = client.openStream()
    request.on('error', () => undefined)
    request.write(encodeRecord('envelope', '{}'))
    const place = await (await opened.promise).frames?.place(NEW_STREAM)
    const announced = once(client, 'stream')
    const channel = await place?.open?.()
    if (!channel) throw new Error('The connection carries no frames.')
    const [stream] = (await announced) as [ClientStream]
    stream.on('error', () => undefined)
    const records = recordsOf(stream)
    const begin = await records.next()
    if (begin?.kind !== 'envelope') throw new Error('The first record says which stream it is.')
    return {
      channel,
      reader: {
        async next() {
          const record = await records.next()
          return record?.kind === 'frame' ? record.content : undefined
        },
        pause: relay.pause,
        resume: relay.resume,
        leave: () => client.close(),
        async ended() {
          for (let last = await records.next(); last; last = await records.next()) {
            if (last.kind === 'envelope')
              return new TextDecoder().decode(last.content).includes('error') ? 'error' : 'complete'
          }
          throw new Error('The stream ended without an envelope.')
        },
      },
      async cleanup() {
        await client.close()
        await carrier.close(0)
        relay.close()
      },
    }
  })

  test('a record that is not finished in time gets an error, also if its bytes drip in', async () => {
    const told = Promise.withResolvers<string>()
    const taken = Promise.withResolvers<void>()
    const open: OpenSession = () => ({
      receive: () => taken.resolve(),
      refuse: (fault) => told.resolve(fault.code),
      async finish() {},
      async close() {},
    })
    const { carrier, port } = await serveRaw(open, 1_000, undefined, 100)
    const client = await connectRaw(port)
    const stream: ClientStream = client.openStream()
    const closed = new Promise((resolve) => stream.once('close', resolve))
    stream.on('error', () => undefined)
    const begun = encodeRecord('envelope', 'x'.repeat(900)).subarray(0, 10)
    stream.write(Buffer.concat([encodeRecord('envelope', '{}'), begun]))
    await taken.promise
    const dripping = setInterval(() => stream.write('x'), 30)

    const code = await told.promise
    clearInterval(dripping)
    await closed
    await client.close()
    await carrier.close(0)

    expect(code).toBe('BODY_TIMEOUT')
  })
})
