/** Streams through the client against a real server. */
import { operation } from 'callplane'
import { createClient } from 'callplane/client'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { verifies } from '../requirements.ts'
import { startSite } from '../scenarios/server.ts'
import { idIn, json, startLyingServer } from './lying-server.ts'

let isRunning = false
const count = operation('v1:clock.count', {
  args: z.object({ to: z.number() }),
  frame: z.object({ n: z.number() }),
  stream: { integrity: 'crc32' },
  async *run({ to }, ctx) {
    isRunning = true
    try {
      for (let n = 1; n <= to; n++) {
        yield { n }
        if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      if (to === 0) return ctx.fail('NO_COUNT', 'There is nothing to count.')
    } finally {
      isRunning = false
    }
  },
})
const ping = operation('v1:ping', { run: () => 'pong' })
const operations = [count, ping] as const

test.each([{ websocket: true }, { websocket: false }])('frames arrive in a loop, with %o', async (options) => {
  verifies('opencall:100')
  const { url } = await startSite({ operations: [...operations], ...options })
  const api = createClient<typeof operations>({ url })
  const seen: number[] = []

  for await (const frame of api.clock.count({ to: 5 })) {
    expectTypeOf(frame).toEqualTypeOf<{ n: number }>()
    seen.push(frame.n)
  }

  expect(seen).toEqual([1, 2, 3, 4, 5])
})

test('a loop that is left ends the stream, and a failure is thrown', async () => {
  const { url } = await startSite({ operations: [...operations] })
  const api = createClient<typeof operations>({ url })

  for await (const { n } of api.clock.count({ to: 1e9 })) if (n === 3) break
  await expect.poll(() => isRunning).toBe(false)

  const loop = async () => {
    for await (const _ of api.clock.count({ to: 0 })) expect.unreachable()
  }
  await expect(loop()).rejects.toMatchObject({ code: 'NO_COUNT', operation: 'v1:clock.count' })
  // @ts-expect-error: a stream is no promise
  const awaited = api.clock.count({ to: 3 }).then()
  await expect(awaited).rejects.toMatchObject({ code: 'IS_A_STREAM' })
  const wrong = async () => {
    // @ts-expect-error: a call is no stream
    for await (const _ of api.ping()) expect.unreachable()
  }
  await expect(wrong()).rejects.toMatchObject({ code: 'NOT_A_STREAM' })
})

test('a stream is subscribed to again before it expires, and its loop goes on', async () => {
  verifies('opencall:070', 'opencall:072')
  let subscriptions = 0
  const brief = operation('v1:clock.brief', {
    frame: z.object({ subscription: z.number() }),
    ttlSeconds: 2,
    async *run(_args, ctx) {
      yield { subscription: ++subscriptions }
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    },
  })
  const { url } = await startSite({ operations: [brief] })
  const api = createClient<[typeof brief]>({ url })
  const seen: number[] = []

  for await (const { subscription } of api.clock.brief()) {
    seen.push(subscription)
    if (subscription === 3) break
  }

  expect(seen).toEqual([1, 2, 3])
})

/** A server of one stream of events. */
async function startFrames(frames: string, place: object = {}) {
  const subscribed: unknown[] = []
  const { url } = await startLyingServer((told, response) => {
    if (told.path.startsWith('/streams/'))
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames)
    if (told.method === 'POST' && JSON.stringify(told.body).includes('unsubscribe'))
      return json(response, 200, { requestId: idIn(told), state: 'complete', result: null })
    subscribed.push(told.body)
    const stream = { transport: 'sse', encoding: 'json', location: '/streams/1', expiresAt: 4_000_000_000, ...place }
    json(response, 202, { requestId: idIn(told), state: 'streaming', stream })
  })
  return { api: createClient<typeof operations>({ url }), subscribed }
}

test('a key that is about to expire is not used: the client subscribes again, once', async () => {
  verifies('opencall:077')
  const auth = { credentialType: 'otk', credential: 'k', expiresAt: 1_000 }
  const { api, subscribed } = await startFrames('event: end\ndata: {"state":"complete"}\n\n', { auth })

  for await (const _ of api.clock.count({ to: 1 })) expect.unreachable()

  expect(subscribed).toHaveLength(2)
})

test.each([
  ['text that is no JSON', 'event: frame\ndata: {"n":\n\n', {}],
  [
    'a wrong checksum',
    `event: frame\ndata: ${Buffer.from([...Array(8).fill(0), 1, 9, 9, 9, 9, 1]).toString('base64')}\n\n`,
    { encoding: 'binary', integrity: { algorithm: 'crc32' } },
  ],
  [
    'no header',
    `event: frame\ndata: ${Buffer.from([1, 2]).toString('base64')}\n\n`,
    { encoding: 'binary', integrity: { algorithm: 'crc32' } },
  ],
])('a frame with %s ends the loop', async (_what, frames, place) => {
  const { api } = await startFrames(frames, place)
  const loop = async () => {
    for await (const _ of api.clock.count({ to: 1 })) expect.unreachable()
  }

  await expect(loop()).rejects.toMatchObject({ code: 'DAMAGED_FRAME' })
})
