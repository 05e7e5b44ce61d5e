/** The single tool `call`: OpenCALL's envelopes over MCP, and discovery of operations. OpenCALL, "Agent Binding". */
import { createToken, type JsonObject, operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { verifies } from '../requirements.ts'
import { ask, askOlder } from './mcp.ts'
import { createGate, type Site, startSite } from './server.ts'

const shape = { mcp: { shape: 'call' as const } }

const getItem = operation('v1:orders.getItem', {
  description: 'One item of an order.',
  args: z.object({ orderId: z.string() }),
  run: ({ orderId }) => ({ orderId, name: 'lamp' }),
})

const call = async (site: Site, envelope: object) =>
  (await ask(site, 'tools/call', { name: 'call', arguments: envelope })).json.result

test('there is one tool to call everything, and one to find it', async () => {
  verifies('opencall:282', 'opencall:283', 'opencall:284')
  const site = await startSite({ operations: [getItem], ...shape })
  for (const asking of [ask, askOlder]) {
    const { json } = await asking(site, 'tools/list')
    const [calling, finding] = json.result.tools
    expect([calling.name, finding.name, json.result.tools.length]).toEqual(['call', 'search', 2])
    expect(Object.keys(calling.inputSchema.properties)).toEqual(['op', 'args', 'ctx', 'media'])
    expect(calling.outputSchema.required).toEqual(['requestId', 'state'])
  }
  const ctx = { requestId: 'r-1', sessionId: 's-1' }
  const result = await call(site, { op: 'v1:orders.getItem', args: { orderId: 'o1' }, ctx })
  const overHttp = await site.call('v1:orders.getItem', { orderId: 'o1' }, ctx)
  expect(result.structuredContent).toEqual(overHttp.body)
  expect(JSON.parse(result.content[0].text)).toEqual(overHttp.body)
})

test('a name with its version as suffix is an alias here, too', async () => {
  const site = await startSite({ operations: [getItem], ...shape })

  const result = await call(site, { op: 'orders.getItem:v1', args: { orderId: 'o1' } })

  expect(result.structuredContent).toMatchObject({
    result: { orderId: 'o1' },
    meta: { op: 'v1:orders.getItem', durationMs: expect.any(Number) },
  })
})

test('the registry is a resource, with the same operations as over HTTP', async () => {
  verifies('opencall:285')
  const site = await startSite({ operations: [getItem], ...shape })
  const { json } = await ask(site, 'resources/list')
  const { uri } = json.result.resources[0]
  const read = await ask(site, 'resources/read', { uri })
  const { callVersion, operations } = (await (await site.request('/.well-known/ops')).json()) as JsonObject
  expect(JSON.parse(read.json.result.contents[0].text)).toEqual({ callVersion, operations })
})

test('a call that takes its time is asked for again by its id, within its session', async () => {
  verifies('opencall:286', 'opencall:288')
  const gate = createGate()
  let runs = 0
  const make = operation('v1:reports.make', {
    model: 'async',
    run: () => {
      runs++
      return gate.pass()
    },
  })
  const clockless = await startSite({ operations: [make], ...shape })
  const ctx = { requestId: 'report-1', sessionId: 'month-end' }
  // A policy, an approval or a queue has the same effect: accepted first, and the outcome later.
  const accepted = await clockless.call('v1:reports.make', {}, ctx)
  expect(accepted.body).toMatchObject({ state: 'accepted', sessionId: 'month-end' })
  gate.open({ rows: 3 })
  const ended = await call(clockless, { op: 'v1:reports.make', args: {}, ctx })
  expect(ended.structuredContent).toMatchObject({ state: 'complete', result: { rows: 3 }, ...ctx })
  expect(runs).toBe(1)
})

test('a failure is an envelope that the model can read, without what is for developers', async () => {
  const fails = operation('v1:it.fails', {
    run: (_, ctx) => ctx.fail('NO_STOCK', 'None left.', { promptContent: 'Try lamps.', developerMessage: 'shard 7' }),
  })
  const site = await startSite({ operations: [fails, getItem], ...shape })
  const failed = await call(site, { op: 'v1:it.fails' })
  expect(failed).toMatchObject({ isError: true, structuredContent: { state: 'error', error: { code: 'NO_STOCK' } } })
  expect(JSON.stringify(failed)).toContain('Try lamps.')
  expect(JSON.stringify(failed)).not.toContain('shard 7')
  const wrong = await call(site, { op: 'v1:orders.getItem', args: { orderId: 7 } })
  expect(JSON.stringify(wrong.structuredContent.error)).toContain('/orderId')
  expect((await call(site, { op: 7 })).structuredContent).toMatchObject({ state: 'error' })
  expect((await ask(site, 'tools/call', { name: 'orders_getItem' })).json.error.code).toBe(-32602)
})

test('administrative operations cannot be called or found this way, by any caller', async () => {
  const { token, hash } = createToken()
  const site = await startSite({
    operations: [getItem],
    auth: { tokens: [{ hash, kind: 'bearer', subject: 'root', scopes: ['*', 'callplane:admin'] }] },
    ...shape,
  })
  const headers = { Authorization: `Bearer ${token}` }
  const params = { name: 'call', arguments: { op: 'v1:callplane.approvals.list' } }
  const { json } = await ask(site, 'tools/call', params, { headers })
  expect(json.result.structuredContent.error.code).toBe('UNKNOWN_OP')
  const found = await ask(site, 'tools/call', { name: 'search', arguments: { query: 'approvals' } }, { headers })
  expect(found.json.result.structuredContent.total).toBe(0)
  expect((await ask(site, 'tools/call', params)).status).toBe(401)
})

test('search finds operations by their words, the best first', async () => {
  const many = Array.from({ length: 1_000 }, (_, at) => operation(`v1:many.tool${at}`, { run: () => at }))
  const refund = operation('v1:orders.refund', { description: 'Gives money back.', run: () => true })
  const letter = operation('v1:mail.send', { description: 'Writes to whoever made an order.', run: () => true })
  const site = await startSite({ operations: [...many, letter, getItem, refund], ...shape })
  const search = async (args: object) =>
    (await ask(site, 'tools/call', { name: 'search', arguments: args })).json.result
  const names = async (query: string) =>
    (await search({ query })).structuredContent.operations.map(({ op }: { op: string }) => op)
  expect(await names('money')).toEqual(['v1:orders.refund'])
  expect(await names('get item of order')).toEqual(['v1:orders.getItem', 'v1:orders.refund', 'v1:mail.send'])
  const all = (await search({ query: '', limit: 50 })).structuredContent
  expect([all.operations.length, all.total]).toEqual([50, 1_003])
  expect(all.operations[0]).toHaveProperty('argsSchema')
  expect(await search({ query: 'x', limit: 1_000 })).toMatchObject({ isError: true })
})
