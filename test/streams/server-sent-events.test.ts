/** Frames as server-sent events pass the suite for frames, and a server without WebSocket has them as its transport. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { jsonSchema, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createHttpCarrier, createRequestListener } from '../../src/carriers/http/index.ts'
import { Fault } from '../../src/core/fault.ts'
import { FrameBody } from '../../src/protocols/opencall/http/frame-body.ts'
import { frameEvents } from '../../src/protocols/opencall/http/frame-events.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { refusePlainly } from '../../src/testing/suites/carrier/content.ts'
import { describeFrames } from '../../src/testing/suites/frames/frames.ts'
import { clientGone } from '../../src/wire/http/body-faults.ts'
import { EventDecoder } from '../../src/wire/http/event-stream.ts'
import { startSite } from '../scenarios/server.ts'
import { createFeed } from './feed.ts'
import { readEvents, readWithTicket, streamIn } from './sse.ts'

const STREAM = { id: 'i-1', requestId: 'r-1', encoding: 'binary', sealed: false }

describeFrames({ describe, test, expect }, 'server-sent events', async () => {
  const opened = Promise.withResolvers<FrameBody<string>>()
  const format = frameEvents(STREAM, (bytes) => Buffer.from(bytes).toString('base64'))
  const methods = {
    GET(exchange: { signal: AbortSignal }) {
      const body = new FrameBody(format, exchange.signal)
      opened.resolve(body)
      return { status: 200, headers: {}, body: body.read(systemClock) }
    },
  }
  const listener = createRequestListener([{ path: '/frames', refuse: refusePlainly, methods }], {
    fallback: refusePlainly,
  })
  const carrier = createHttpCarrier({ listener, host: '127.0.0.1', port: 0 })
  const { url } = await carrier.listen()
  const asked = get(`${url}/frames`)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const events = eventsIn(response)
  const next = async () => (await events.next()).value
  return {
    channel: await opened.promise,
    reader: {
      async next(bytes = false) {
        const event = await next()
        if (event?.event !== 'frame') return undefined
        return bytes ? Buffer.from(event.data, 'base64') : event.data
      },
      // The connection is read when an event is asked for.
      pause: () => {},
      resume: () => {},
      leave: () => void asked.destroy(),
      async ended() {
        for (let last = await next(); last; last = await next()) {
          if (last.event === 'end') return JSON.parse(last.data).state
        }
        throw new Error('The response ended without an event "end".')
      },
    },
    async cleanup() {
      asked.destroy()
      await carrier.close(0)
    },
  }
})

async function* eventsIn(response: IncomingMessage): AsyncGenerator<{ event: string; data: string }, undefined> {
  const decoder = new EventDecoder({ maxLength: 1024 * 1024 })
  for await (const piece of response) yield* decoder.push(piece)
}

const count = operation('v1:clock.count', { frame: jsonSchema<{ n: number }>({}), run: () => [{ n: 1 }, { n: 2 }] })

test('a server without WebSocket names them as the transport, and they can be read', async () => {
  const site = await startSite({ operations: [count], websocket: false })
  const { operations } = (await (await site.request('/.well-known/ops')).json()) as { operations: { op: string }[] }
  const subscribed = await site.call('v1:clock.count', { transport: ['quic', 'sse'] })
  const reader = await readWithTicket(subscribed)

  expect(operations.find(({ op }) => op === 'v1:clock.count')).toMatchObject({ supportedTransports: ['sse'] })
  expect(streamIn(subscribed)).toMatchObject({
    transport: 'sse',
    accept: 'text/event-stream',
    location: expect.stringMatching(`^${site.url}/streams/`),
  })
  expect((await reader.rest()).map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }, { state: 'complete' }])
})

test('with WebSocket, they are at the same path and not in the list', async () => {
  const site = await startSite({ operations: [count] })
  const subscribed = await site.call('v1:clock.count')
  const refused = await site.call('v1:clock.count', { transport: 'sse' })

  expect(streamIn(subscribed).transport).toBe('wss')
  expect(refused.body).toMatchObject({ error: { code: 'UNSUPPORTED_TRANSPORT' } })
  expect(await (await readWithTicket(subscribed)).rest()).toHaveLength(3)
})

test('a reader that leaves comes back with its own credential and misses no frame', async () => {
  const { feed, definition } = createFeed({ integrity: 'crc32' })
  const site = await startSite({ operations: [definition] })
  const subscribed = await site.call('v1:feed.watch')
  const first = await readWithTicket(subscribed)
  feed.push('a')
  expect((await first.next())?.data).toBe('a')

  first.leave()
  feed.push('b')
  await expect.poll(() => feed.left()).toBe(0)
  const again = await readEvents(`${streamIn(subscribed).url}?after=1`)

  expect((await again.next())?.data).toBe('b')
  expect((await site.poll(subscribed.body.requestId)).body.state).toBe('streaming')
})

test('a client that leaves does not cancel the stream: only a fault of the channel does', () => {
  const gone = new AbortController()
  const body = new FrameBody(
    frameEvents(STREAM, () => ''),
    gone.signal,
  )

  gone.abort(clientGone())

  expect(body.signal.aborted).toBe(true)
  expect(body.signal.reason).not.toBeInstanceOf(Fault)
})
