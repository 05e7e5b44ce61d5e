/** One registry, made from code, behind every way in. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jsonSchema, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { callerOf, startSite } from './server.ts'

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

test('the registry is what the code of several teams declares, and nothing is written by hand', async () => {
  verifies('opencall:243', 'opencall:244')
  const site = await startSite({ operations: [...orders, ...devices] })

  const listed = (await (await site.request('/.well-known/ops')).json()) as { operations: { op: string }[] }
  const total = await site.call('v1:orders.total', { prices: [1, 2] })
  const ping = await site.call('v1:devices.ping')

  expect(listed.operations.map(({ op }) => op)).toEqual(['v1:orders.total', 'v1:devices.ping'])
  expect(listed.operations[0]).toMatchObject({
    argsSchema: { required: ['prices'] },
    resultSchema: { type: 'number' },
    executionModel: 'sync',
  })
  expect([total.body.result, ping.body.result]).toEqual([3, 'pong'])
})

test('every way in reaches the same operation with the same meaning', async () => {
  verifies('opencall:004')
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
