/** Streams through the client against a real server. */
import { operation } from 'callplane'
import { createClient } from 'callplane/client'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { verifies } from '../requirements.ts'
import { startSite } from '../scenarios/server.ts'

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
  const wrong = async () => {
    // @ts-expect-error: a call is no stream
    for await (const _ of api.ping()) expect.unreachable()
  }
  await expect(wrong()).rejects.toMatchObject({ code: 'NOT_A_STREAM' })
})
