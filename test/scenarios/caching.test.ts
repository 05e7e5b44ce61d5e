/** Cached results: for which caller, for how long, and for which input. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import type { RegistryEntry } from '../../src/protocols/opencall/wire.ts'
import { verifies } from '../requirements.ts'
import { answered, createStepClock, startSite } from './server.ts'

/** An operation that says how often it has run. */
function createCounter(name: string, rules: object = {}) {
  let runs = 0
  return operation(name, { cache: { policy: 'server', ttlSeconds: 60 }, ...rules, run: () => ++runs })
}

test('a result is cached for its ttl, by operation and arguments in any order of keys', async () => {
  verifies('opencall:142')
  const clock = createStepClock()
  const site = await startSite({ operations: [createCounter('v1:news.read')], clock })

  const first = await site.call('v1:news.read', { page: 1, size: 10 }, { requestId: 'a', sessionId: 's' })
  const again = await site.call('v1:news.read', { size: 10, page: 1 }, { requestId: 'b' })
  const other = await site.call('v1:news.read', { page: 2, size: 10 })
  clock.advance(60_000)
  const later = await site.call('v1:news.read', { page: 1, size: 10 })

  expect(first.body).toEqual({ requestId: 'a', sessionId: 's', state: 'complete', result: 1 })
  expect(again.body).toEqual({ requestId: 'b', state: 'complete', result: 1 })
  expect([other.body.result, later.body.result]).toEqual([2, 3])
})

test('each caller has its own cache, except for a public operation; each language has its own, too', async () => {
  verifies('opencall:040', 'opencall:142')
  const [ada, bob] = [createToken(), createToken()]
  const token = (hash: string, subject: string) => ({ hash, kind: 'bearer' as const, subject, scopes: [] })
  const site = await startSite({
    operations: [createCounter('v1:mail.read'), createCounter('v1:news.read', { public: true })],
    auth: { tokens: [token(ada.hash, 'ada'), token(bob.hash, 'bob')] },
  })
  const as = ({ token }: { token: string }, op: string, locale?: string) =>
    site.call(op, {}, locale === undefined ? {} : { locale }, { headers: { Authorization: `Bearer ${token}` } })

  const own = [await as(ada, 'v1:mail.read'), await as(bob, 'v1:mail.read'), await as(ada, 'v1:mail.read')]
  const shared = [await as(ada, 'v1:news.read'), await as(bob, 'v1:news.read'), await site.call('v1:news.read')]
  const german = await as(ada, 'v1:news.read', 'de')

  expect(own.map(({ body }) => body.result)).toEqual([1, 2, 1])
  expect(shared.map(({ body }) => body.result)).toEqual([1, 1, 1])
  expect(german.body.result).toBe(2)
})

test('another attachment is another input', async () => {
  verifies('opencall:142')
  const measure = operation('v1:files.measure', {
    cache: { policy: 'server', ttlSeconds: 60 },
    media: [{ name: 'file', acceptedTypes: ['text/plain'], maxBytes: 100 }],
    run: async (_args, ctx) => (await ctx.media.file?.text())?.length ?? 0,
  })
  const site = await startSite({ operations: [measure] })
  const post = async (text: string) => {
    const form = new FormData()
    const media = [{ name: 'file', mimeType: 'text/plain', part: 'file' }]
    form.set('envelope', JSON.stringify({ op: 'v1:files.measure', media }))
    form.set('file', new Blob([text], { type: 'text/plain' }))
    return (await answered(await site.request('/call', { method: 'POST', body: form }))).body.result
  }

  expect([await post('four'), await post('sevenxx'), await post('four')]).toEqual([4, 7, 4])
})

test('a failure is not remembered', async () => {
  verifies('opencall:142')
  let runs = 0
  const fetchRate = operation('v1:money.rate', {
    cache: { policy: 'server', ttlSeconds: 60 },
    run: (_args, ctx) => (++runs === 1 ? ctx.fail('NO_RATE', 'No rate yet.') : runs),
  })
  const site = await startSite({ operations: [fetchRate] })

  expect((await site.call('v1:money.rate')).body.state).toBe('error')
  expect((await site.call('v1:money.rate')).body.result).toBe(2)
})

test('the registry says what is remembered; side effects never are, and asking for it is refused at start', async () => {
  verifies('opencall:143', 'opencall:144', 'opencall:258')
  let pictures = 0
  const draw = operation('v1:art.draw', {
    cache: { policy: 'location' },
    run: (_args, ctx) => ctx.location(`https://cdn.example/${++pictures}.png`),
  })
  const pay = createCounter('v1:till.pay', {
    cache: { policy: 'none' },
    sideEffecting: true,
    idempotencyRequired: false,
  })
  const site = await startSite({ operations: [createCounter('v1:news.read'), draw, pay] })

  const document = (await (await site.request('/.well-known/ops')).json()) as { operations: RegistryEntry[] }
  const policies = document.operations.map(({ op, cachingPolicy }) => [op, cachingPolicy])
  const paid = [await site.call('v1:till.pay'), await site.call('v1:till.pay')]
  const drawn = [await site.call('v1:art.draw'), await site.call('v1:art.draw')]

  expect(Object.fromEntries(policies)).toEqual({
    'v1:news.read': 'server',
    'v1:art.draw': 'location',
    'v1:till.pay': 'none',
  })
  expect(paid.map(({ body }) => body.result)).toEqual([1, 2])
  expect(drawn.map(({ body }) => body.location?.uri)).toEqual([
    'https://cdn.example/1.png',
    'https://cdn.example/2.png',
  ])
  const wrong = createCounter('v1:till.pay', { sideEffecting: true })
  await expect(startSite({ operations: [wrong] })).rejects.toThrow(/v1:till.pay.*can cache only a sync operation/)
})

test('a result above 1 MiB is not remembered: a few of them would fill the memory', async () => {
  let runs = 0
  const large = operation('v1:news.archive', {
    cache: { policy: 'server', ttlSeconds: 60 },
    run: ({ size }) => `${++runs} ${'x'.repeat(Number(size))}`,
  })
  const site = await startSite({ operations: [large] })
  const first = async (size: number) => String((await site.call('v1:news.archive', { size })).body.result).split(' ')[0]

  expect([await first(1_000_000), await first(1_000_000)]).toEqual(['1', '1'])
  expect([await first(1_100_000), await first(1_100_000)]).toEqual(['2', '3'])
})
