/** Connections that drop in every phase: the client gets the outcome, and no effect happens twice. */
import { operation } from 'callplane'
import { createClient } from 'callplane/client'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { verifies } from '../requirements.ts'
import { startSite } from '../scenarios/server.ts'
import { type Cut, startCuttingProxy } from './cutting-proxy.ts'
import { idIn, json, startLyingServer } from './lying-server.ts'

let charged: string[] = []
const charge = operation('v1:cards.charge', {
  args: z.object({ card: z.string() }),
  result: z.object({ total: z.number() }),
  sideEffecting: true,
  run({ card }) {
    charged.push(card)
    return { total: charged.length }
  },
})
const slowCharge = operation('v1:cards.chargeLater', {
  args: z.object({ card: z.string() }),
  result: z.object({ total: z.number() }),
  model: 'async',
  sideEffecting: true,
  run({ card }) {
    charged.push(card)
    return { total: charged.length }
  },
})
const book = operation('v1:books.text', {
  args: z.object({ pages: z.number() }),
  chunked: { mimeType: 'text/plain' },
  ttlSeconds: 60,
  async *run({ pages }) {
    for (let page = 0; page < pages; page++) yield `${page}`.padEnd(1_000, '.')
  },
})
const count = operation('v1:clock.count', {
  args: z.object({ to: z.number() }),
  frame: z.object({ n: z.number() }),
  stream: { integrity: 'sha256' },
  async *run({ to }) {
    for (let n = 1; n <= to; n++) yield { n }
  },
})
const operations = [charge, slowCharge, book, count] as const

async function startCut(cuts: readonly Cut[], options: object = {}) {
  charged = []
  const site = await startSite({ operations: [...operations], ...options })
  const proxy = await startCuttingProxy(site.url, cuts)
  return { api: createClient<typeof operations>({ url: proxy.url }), proxy }
}

const PHASES: readonly Cut[] = ['at once', 'after the request', 0, 10, 150, 200]

test.each(PHASES)('a call whose connection is cut (%s) has one effect and one result', async (cut) => {
  const { api, proxy } = await startCut([cut, cut])

  expect(await api.cards.charge({ card: 'a' })).toEqual({ total: 1 })

  expect(proxy.left).toBe(0)
  expect(charged).toEqual(['a'])
})

test.each(PHASES)('a run whose polls are cut (%s) has one effect and one result', async (cut) => {
  const { api } = await startCut([cut, cut])

  const run = await api.cards.chargeLater.start({ card: 'b' })

  expect(await run.result()).toEqual({ total: 1 })
  expect(charged).toEqual(['b'])
})

test('a server that is away for longer than the client tries is a fault with the ids to go on', async () => {
  const { api } = await startCut(Array.from({ length: 20 }, () => 'at once' as const))

  const fault = await api.cards.charge({ card: 'c' }).catch((thrown: unknown) => thrown)

  expect(fault).toMatchObject({ code: 'UNREACHABLE', outcome: 'unknown', operation: 'v1:cards.charge' })
  expect(fault).toHaveProperty('requestId')
  expect(fault).toHaveProperty('idempotencyKey')
  expect(charged).toEqual([])
})

test('a download goes on where its connection was cut', async () => {
  const { api } = await startCut([])
  const download = await api.books.text({ pages: 3_000 })
  const whole = await download.text()
  const cut = await startCut([100_000, 5_000, 'after the request', 0])

  const text = await cut.api.books.text({ pages: 3_000 }).text()

  expect(whole).toHaveLength(3_000_000)
  expect(text).toBe(whole)
  expect(cut.proxy.left).toBe(0)
})

test.each([{ websocket: true }, { websocket: false }])(
  'a stream with integrity goes on where its connection was cut, with %o',
  async (options) => {
    verifies('opencall:206')
    const { api, proxy } = await startCut(['after the request', 2_000, 3_000, 4_000], options)
    const seen: number[] = []

    for await (const { n } of api.clock.count({ to: 500 })) seen.push(n)

    expect(proxy.left).toBe(0)
    expect(seen).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
  },
)

test('a stream that goes on after each cut is not given up, however often it is cut', async () => {
  const { url, told } = await startLyingServer((one, response) => {
    const stream = { transport: 'sse', encoding: 'json', location: '/streams/1', expiresAt: 4_000_000_000 }
    if (one.path !== '/streams/1') return json(response, 202, { requestId: idIn(one), state: 'streaming', stream })
    const subscriptions = told.filter(({ path }) => path === '/streams/1').length
    const end = subscriptions < 12 ? '' : 'event: end\ndata: {"state":"complete"}\n\n'
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: frame\ndata: {"n":1}\n\n${end}`)
  })
  const api = createClient<typeof operations>({ url })
  let frames = 0

  for await (const _ of api.clock.count({ to: 1 }, { requestId: 'mine' })) frames++

  expect(frames).toBe(12)
  const ids = told.flatMap(({ body }) => (body?.op === 'v1:clock.count' ? [body.ctx?.requestId] : []))
  expect([ids[0], new Set(ids).size]).toEqual(['mine', 12])
})
