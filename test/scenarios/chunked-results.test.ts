/** Chunked results whose media type each call chooses, and a value next to the bytes, through every protocol. */
import { jsonSchema, operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { verifies } from '../requirements.ts'
import { ask } from './mcp.ts'
import { oxpClient } from './oxp.ts'
import { createGate, startSite } from './server.ts'

const Summary = z.object({ rows: z.int() })

async function* rowsAs(format: string, rows: number) {
  for (let row = 1; row <= rows; row++) yield format === 'csv' ? `${row},item\n` : `{"row":${row}}\n`
  return { rows }
}

const exportRows = operation('v1:orders.export', {
  args: z.object({ format: z.enum(['csv', 'ndjson']), rows: z.int() }),
  result: Summary,
  chunked: true,
  run: ({ format, rows }, ctx) =>
    ctx.chunks(rowsAs(format, rows), { mimeType: format === 'csv' ? 'text/csv' : 'application/x-ndjson' }),
})

const generated = operation('v1:orders.generated', {
  result: Summary,
  chunked: { mimeType: 'text/csv' },
  async *run() {
    yield '1,item\n'
    return { rows: 1 }
  },
})

test('a call sets the type of its chunked result, and can return a value with it', async () => {
  verifies('opencall:158', 'opencall:081')
  const site = await startSite({ operations: [exportRows, generated] })

  for (const [format, mimeType, data] of [
    ['csv', 'text/csv', '1,item\n2,item\n'],
    ['ndjson', 'application/x-ndjson', '{"row":1}\n{"row":2}\n'],
  ] as const) {
    const { body } = await site.call('v1:orders.export', { format, rows: 2 })
    const ended = await site.ended(body.requestId)
    const uri = `${site.url}/ops/${body.requestId}/chunks`
    expect(ended.body).toMatchObject({ state: 'complete', location: { uri, mimeType, value: { rows: 2 } } })
    expect(ended.body).not.toHaveProperty('result')
    expect(await (await fetch(uri)).json()).toMatchObject({ state: 'complete', mimeType, data })
  }
  const { body } = await site.call('v1:orders.generated')
  expect((await site.ended(body.requestId)).body.location).toMatchObject({ mimeType: 'text/csv', value: { rows: 1 } })
})

test('each protocol shows the value where its results have room for one', async () => {
  const site = await startSite({ operations: [exportRows], rest: { allowExecute: true } })
  const args = { format: 'csv', rows: 3 }
  const located = { uri: expect.stringMatching(/\/chunks$/), mimeType: 'text/csv', value: { rows: 3 } }

  const oxp = await oxpClient(site.url).call('orders.export', args)
  expect(oxp.body.value).toEqual(located)

  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(args) }
  const rest = await (await site.request('/tools/orders_export/call', init)).json()
  expect(rest).toMatchObject({ isError: false, structuredContent: located, content: [{ type: 'resource_link' }] })

  const { result } = (await ask(site, 'tools/call', { name: 'orders_export', arguments: args })).json
  expect(result.structuredContent).toEqual({ rows: 3 })
  expect(result.content).toMatchObject([
    { type: 'text', text: '{"rows":3}' },
    { type: 'resource_link', mimeType: 'text/csv' },
  ])

  const request = {
    tool_contract_version: 'v1',
    request_id: 'r1',
    tool: { name: 'orders_export', version: '1.0.0' },
    input: args,
  }
  const contract = await site.request('/tool-contract/v1/execute', { ...init, body: JSON.stringify(request) })
  expect(await contract.json()).toMatchObject({
    status: 'ok',
    output: { location: located.uri, mime_type: 'text/csv', value: { rows: 3 } },
  })
})

test('until the first piece is stored a call of such an operation has no type, and is not said to be of another kind', async () => {
  const gate = createGate<string>()
  const slow = operation('v1:t.slow', {
    chunked: true,
    run: async (_args, ctx) => ctx.chunks([await gate.pass()], { mimeType: 'text/plain' }),
  })
  const site = await startSite({ operations: [slow] })
  const { body } = await site.call('v1:t.slow')
  await gate.began
  const path = `/ops/${body.requestId}/chunks`

  const before = await (await site.request(path)).json()
  gate.open('done')
  await site.ended(body.requestId)

  expect(before).toMatchObject({ state: 'pending', retryAfterMs: expect.any(Number) })
  expect(before).not.toHaveProperty('mimeType')
  expect(await (await site.request(path)).json()).toMatchObject({ mimeType: 'text/plain', data: 'done' })
})

test('an invalid value, an invalid type, or a type other than the declared one ends the call before its last chunk', async () => {
  const chunked = { mimeType: 'text/csv' }
  const result = jsonSchema<{ rows: number }>({ type: 'object', required: ['rows'] })
  const site = await startSite({
    operations: [
      operation('v1:t.unfit', {
        chunked,
        result,
        run: (_a, ctx) => ctx.chunks(['a'], { value: {} as { rows: number } }),
      }),
      operation('v1:t.typo', { chunked: true, run: (_a, ctx) => ctx.chunks(['a'], { mimeType: 'csv' }) }),
      operation('v1:t.other', { chunked, run: (_a, ctx) => ctx.chunks(['a'], { mimeType: 'text/html' }) }),
      operation('v1:t.plain', { run: (_a, ctx) => ctx.chunks(['a'], { mimeType: 'text/html' }) }),
      operation('v1:t.later', {
        chunked,
        result,
        run: (_a, ctx) => ctx.chunks(['a', 'b'], { value: async () => ({ rows: 2 }) }),
      }),
    ],
  })
  const outcome = async (name: string) => (await site.ended((await site.call(name)).body.requestId)).body

  expect((await outcome('v1:t.unfit')).error?.message).toMatch(/rows/)
  expect((await outcome('v1:t.typo')).error?.message).toContain('"csv" is not a media type')
  expect((await outcome('v1:t.other')).error?.message).toContain('declares text/csv but returns text/html')
  expect((await site.call('v1:t.plain')).body.error?.message).toContain('is not declared as "chunked"')
  expect((await outcome('v1:t.later')).location).toMatchObject({ value: { rows: 2 } })
})

test('a generator that is not read to its end cleans up', async () => {
  const cleaned = Promise.withResolvers<void>()
  const endless = operation('v1:t.endless', {
    chunked: { mimeType: 'text/plain' },
    async *run() {
      try {
        for (;;) yield 'more and more '
      } finally {
        cleaned.resolve()
      }
    },
  })
  const site = await startSite({ operations: [endless] })
  const { body } = await site.call('v1:t.endless')

  await site.request(`/ops/${body.requestId}`, { method: 'DELETE' })

  await cleaned.promise
  expect((await site.ended(body.requestId)).body.state).toBe('error')
})
