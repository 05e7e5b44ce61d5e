/** One registry, built from code, behind every protocol. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jsonSchema, operation, removed } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RegistryEntry } from '../../src/protocols/opencall/wire.ts'
import { verifies } from '../requirements.ts'
import { oxpClient } from './oxp.ts'
import { callerOf, type Site, startSite, temporaryFolder } from './server.ts'

/** Two teams, each with a namespace and a module of its own. */
const orders = [
  operation('v1:orders.total', {
    args: jsonSchema<{ prices: number[] }>({
      type: 'object',
      required: ['prices'],
      properties: { prices: { type: 'array', items: { type: 'number' } } },
    }),
    result: jsonSchema<number>({ type: 'number' }),
    run: ({ prices }) => prices.reduce((sum, price) => sum + price, 0),
  }),
]
const devices = [operation('v1:devices.ping', { result: jsonSchema<string>({ const: 'pong' }), run: () => 'pong' })]

async function listed(site: Site): Promise<RegistryEntry[]> {
  const document = (await (await site.request('/.well-known/ops')).json()) as { operations: RegistryEntry[] }
  return document.operations
}

test('the registry is what the code of several teams declares', async () => {
  verifies('opencall:244')
  const site = await startSite({ operations: [...orders, ...devices] })

  const entries = await listed(site)
  const total = await site.call('v1:orders.total', { prices: [1, 2] })
  const ping = await site.call('v1:devices.ping')

  expect(entries.map(({ op }) => op)).toEqual(['v1:orders.total', 'v1:devices.ping'])
  expect(entries[0]).toMatchObject({
    argsSchema: { required: ['prices'] },
    resultSchema: { type: 'number' },
    executionModel: 'sync',
  })
  expect([total.body.result, ping.body.result]).toEqual([3, 'pong'])
})

const filed = {
  description: 'Files a paper.',
  args: jsonSchema<{ title: string }>({
    type: 'object',
    required: ['title'],
    properties: { title: { type: 'string' } },
  }),
  result: jsonSchema<string>({ type: 'string' }),
  media: [{ name: 'paper', required: true, acceptedTypes: ['application/pdf'], maxBytes: 5_000 }],
  scopes: ['papers:write'],
  run: () => 'filed',
}
const FILED = {
  op: 'v1:papers.file',
  description: 'Files a paper.',
  argsSchema: filed.args,
  resultSchema: filed.result,
  mediaSchema: [{ name: 'paper', required: true, acceptedTypes: ['application/pdf'], maxBytes: 5_000 }],
  sideEffecting: false,
  idempotencyRequired: false,
  executionModel: 'sync',
  maxSyncMs: 5_000,
  chunked: false,
  ttlSeconds: 0,
  authScopes: ['papers:write'],
  cachingPolicy: 'none',
}

test('an entry holds the schemas, how the operation is executed, its deprecation and its limits', async () => {
  verifies('opencall:277')
  const site = await startSite({
    operations: [
      operation('v1:papers.file', {
        ...filed,
        title: 'File',
        model: 'async',
        sideEffecting: true,
        idempotencyRequired: false,
        maxSyncMs: 700,
        ttlSeconds: 60,
        deprecated: { sunset: '2999-12-31', replacement: 'v2:papers.file' },
      }),
    ],
  })

  expect(await listed(site)).toEqual([
    {
      ...FILED,
      title: 'File',
      executionModel: 'async',
      sideEffecting: true,
      maxSyncMs: 700,
      ttlSeconds: 60,
      deprecated: true,
      sunset: '2999-12-31',
      replacement: 'v2:papers.file',
    },
  ])
})

test('a change of the code changes the document, and the document of an earlier server is not reused', async () => {
  verifies('opencall:243')
  const data = temporaryFolder()
  const shorter = jsonSchema<{ title: string }>({ type: 'object', properties: { title: { maxLength: 9 } } })
  const changes: readonly (readonly [change: object, seen: object])[] = [
    [{}, {}],
    [{ description: 'Files any paper.' }, { description: 'Files any paper.' }],
    [{ args: shorter }, { argsSchema: shorter }],
    [{ result: jsonSchema<string>({ const: 'filed' }) }, { resultSchema: { const: 'filed' } }],
    [{ media: [] }, { mediaSchema: undefined }],
    [{ sideEffecting: true }, { sideEffecting: true, idempotencyRequired: true }],
    [
      { model: 'async', ttlSeconds: 9 },
      { executionModel: 'async', ttlSeconds: 9 },
    ],
    [{ maxSyncMs: 9 }, { maxSyncMs: 9 }],
    [{ scopes: [] }, { authScopes: [] }],
    [{ cache: { policy: 'server', ttlSeconds: 9 } }, { cachingPolicy: 'server' }],
    [{ deprecated: { sunset: '2999-12-31' } }, { deprecated: true, sunset: '2999-12-31' }],
  ]
  for (const [change, seen] of changes) {
    const site = await startSite({ operations: [operation('v1:papers.file', { ...filed, ...change })], data })
    const entries = await listed(site)
    await site.close()

    // As JSON: an undefined field is absent.
    expect(entries).toEqual([JSON.parse(JSON.stringify({ ...FILED, ...seen }))])
  }
})

test('exactly the operations that can be called are listed', async () => {
  verifies('opencall:276')
  const run = () => null
  const slot = { name: 'file', required: true, acceptedTypes: ['*/*'], maxBytes: 9 }
  const site = await startSite({
    operations: [
      operation('v1:plain', { run }),
      operation('v1:team.sub.deep', { run }),
      operation('v1:async', { model: 'async', run }),
      operation('v1:chunks', { chunked: { mimeType: 'text/csv' }, run: () => [] }),
      operation('v1:media', { media: [slot], run }),
      operation('v1:keyed', { sideEffecting: true, run }),
      operation('v1:public', { public: true, run }),
      operation('v1:scoped', { scopes: ['none but few have it'], run }),
      operation('v1:aging', { deprecated: { sunset: '2999-12-31' }, run }),
      operation('v1:many', { run }),
      operation('v1:many', { version: '1.1.0', run }),
      operation('v2:many', { run }),
      operation('v1:sunset', { deprecated: { sunset: '2020-01-01' }, run }),
      removed('v1:buried', { on: '2020-01-01' }),
    ],
  })
  const entries = (await listed(site)).map(({ op }) => op)
  // Operations for operators are listed for operators only.
  const offered = site.server.registry.keys.filter((key) => !key.startsWith('v1:callplane.'))
  const declared = new Set(offered.map((key) => key.replace(/@.*/, '')))

  const callable: string[] = []
  for (const op of [...declared, 'v1:buried', 'v2:plain', 'v1:none']) {
    const { body } = await site.call(op)
    if (!['UNKNOWN_OP', 'OP_REMOVED'].includes(body.error?.code ?? '')) callable.push(op)
  }

  expect(new Set(entries).size).toBe(entries.length)
  expect([...entries].sort()).toEqual([...callable].sort())
  expect(entries).toHaveLength(11)
})

test('every way in reaches the same operation with the same meaning', async () => {
  verifies('opencall:004')
  let runs = 0
  const total = operation('v1:orders.total', {
    args: jsonSchema<{ prices: number[] }>({
      type: 'object',
      required: ['prices'],
      properties: { prices: { type: 'array', items: { type: 'number' } } },
    }),
    run: ({ prices }, ctx) => {
      runs++
      return prices.length === 0
        ? ctx.fail('NOTHING_ORDERED', 'There is nothing to add up.')
        : prices.reduce((sum, price) => sum + price)
    },
  })
  const site = await startSite({ operations: [total], rest: { allowExecute: true } })
  const { url } = site
  const asOpenCall = async (args: object) => {
    const { body } = await site.call('v1:orders.total', args)
    return body.error ? { refused: body.error.message } : { result: body.result }
  }
  const asOxp = async (input: object) => {
    const { body } = await oxpClient(url).call('orders.total', input)
    if (body.success) return { result: body.value }
    return { refused: body.error?.message ?? JSON.stringify(body.parameter_errors) }
  }
  const asRest = async (args: object) => {
    const response = await site.request('/tools/orders_total/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(args),
    })
    const body = (await response.json()) as { isError?: boolean; content?: { text: string }[] }
    const text = body.content?.[0]?.text ?? JSON.stringify(body)
    return response.ok && !body.isError ? { result: JSON.parse(text) } : { refused: text }
  }

  const ways = [asOpenCall, asOxp, asRest]
  const good = await Promise.all(ways.map((way) => way({ prices: [1, 2] })))
  const ranGood = runs
  const invalid = await Promise.all(ways.map((way) => way({ prices: 'none' })))
  const ranInvalid = runs
  const failed = await Promise.all(ways.map((way) => way({ prices: [] })))

  expect(good).toEqual([{ result: 3 }, { result: 3 }, { result: 3 }])
  expect([ranGood, ranInvalid, runs]).toEqual([3, 3, 6])
  for (const answer of invalid) expect(answer).toEqual({ refused: expect.stringContaining('prices') })
  for (const answer of failed) expect(answer).toEqual({ refused: 'There is nothing to add up.' })
})

test('JSON, a form and a mounted listener are one way in', async () => {
  const site = await startSite({ operations: orders })
  const http = createHttpServer(site.server.listener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close())
  const mounted = callerOf(`http://127.0.0.1:${(http.address() as AddressInfo).port}`)
  const form = new FormData()
  form.set('envelope', JSON.stringify({ op: 'v1:orders.total', args: { prices: [1, 2] } }))

  const byJson = await site.call('v1:orders.total', { prices: [1, 2] })
  const byForm = await site.request('/call', { method: 'POST', body: form })
  const byMount = await mounted.call('v1:orders.total', { prices: [1, 2] })
  const refusals = await Promise.all([site, mounted].map((way) => way.call('v1:orders.total', { prices: 'none' })))

  expect(byJson.body).toMatchObject({ state: 'complete', result: 3 })
  expect(await byForm.json()).toMatchObject({ state: 'complete', result: 3 })
  expect(byMount.body).toMatchObject({ state: 'complete', result: 3 })
  for (const { status, body } of refusals) expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR'])
})

test('a binary result comes in base64 chunks, a text one as text', async () => {
  verifies('opencall:168', 'opencall:167')
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251)
  const site = await startSite({
    operations: [
      operation('v1:bytes.make', { chunked: { mimeType: 'application/octet-stream' }, run: () => [bytes] }),
      operation('v1:text.make', { chunked: { mimeType: 'text/plain' }, run: () => ['\ufeffgrüße "quoted"\n', '😀'] }),
    ],
  })

  await site.call('v1:bytes.make', {}, { requestId: 'bytes' }, { headers: { Prefer: 'wait=30' } })
  await site.call('v1:text.make', {}, { requestId: 'text' }, { headers: { Prefer: 'wait=30' } })
  const binary = await (await site.request('/ops/bytes/chunks')).json()
  const text = await (await site.request('/ops/text/chunks')).json()

  expect(binary).toMatchObject({ encoding: 'base64', mimeType: 'application/octet-stream', state: 'complete' })
  expect(Buffer.from((binary as { data: string }).data, 'base64').equals(bytes)).toBe(true)
  expect(text).toMatchObject({ encoding: 'utf8', data: '\ufeffgrüße "quoted"\n😀' })
})

describe('the document, plain and compressed', () => {
  const read = async (site: Site, headers: Record<string, string>) => {
    const { status, headers: sent } = await site.request('/.well-known/ops', { headers })
    return { status, encoding: sent.get('content-encoding'), etag: sent.get('etag') ?? '', vary: sent.get('vary') }
  }

  test('has an ETag for each, and either says that nothing has changed', async () => {
    const site = await startSite({ operations: orders })

    const plain = await read(site, { 'Accept-Encoding': 'identity' })
    const zipped = await read(site, { 'Accept-Encoding': 'gzip' })

    expect([plain.encoding, zipped.encoding]).toEqual([null, 'gzip'])
    expect([plain.vary, zipped.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding'])
    expect(plain.etag).toMatch(/^"sha256:\w+"$/)
    expect(zipped.etag).toMatch(/^"sha256:[\w-]+"$/)
    expect(zipped.etag).not.toBe(plain.etag)
    for (const { etag } of [plain, zipped]) {
      const again = await read(site, { 'Accept-Encoding': 'gzip', 'If-None-Match': etag })
      expect(again).toMatchObject({ status: 304, etag: zipped.etag })
    }
  })

  test.each([
    ['gzip', 'gzip'],
    ['br, GZIP;q=0.5', 'gzip'],
    ['deflate;q=0, gzip; q=1.000, *;q=0', 'gzip'],
    ['gzip;q=0', null],
    ['br, gzip ; q=0.000', null],
    ['identity', null],
    ['notgzip, gzip-like', null],
    ['', null],
  ])('is compressed for a client that accepts gzip: %j', async (accepted, encoding) => {
    const site = await startSite({ operations: orders })

    expect((await read(site, { 'Accept-Encoding': accepted })).encoding).toBe(encoding)
  })
})
