/** MCP over HTTP: tools as both generations see them, the results of calls, and the text of failures. */
import { createToken, jsonSchema, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask, askOlder, send } from './mcp.ts'
import { createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

const add = operation('v1:math.add', {
  title: 'Add',
  description: 'Adds two numbers.',
  args: z.object({ a: z.number(), b: z.number() }),
  result: z.number(),
  run: ({ a, b }) => a + b,
})
const order = operation('v1:orders.get', {
  args: z.object({ id: z.string() }),
  result: z.object({ id: z.string(), paid: z.boolean() }),
  run: ({ id }) => ({ id, paid: true }),
})

const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }

describe('finding tools', () => {
  test('discovery says what the server speaks and offers', async () => {
    const site = await startSite({
      operations: [add],
      mcp: { name: 'sums', version: '3.1.0', instructions: 'Add up.' },
    })
    const { status, json } = await ask(site, 'server/discover')
    expect(status).toBe(200)
    expect(json.result).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { ...CAPABILITIES, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      instructions: 'Add up.',
      ttlMs: 60_000,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'sums', version: '3.1.0' } },
    })
  })

  test('each operation is a tool, in the order of their names, with what is known of its effects', async () => {
    const wipe = operation('v1:disk.wipe', {
      sideEffecting: true,
      risk: 'critical',
      capabilities: ['network.write'],
      run: () => true,
    })
    const site = await startSite({ operations: [order, add, wipe] })
    const { json } = await ask(site, 'tools/list')
    expect(json.result).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' })
    expect(json.result.tools.map((tool: { name: string }) => tool.name)).toEqual([
      'disk_wipe',
      'math_add',
      'orders_get',
    ])
    const [destroying, adding] = json.result.tools
    expect(destroying.annotations).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: true })
    expect(adding).toMatchObject({
      title: 'Add',
      description: 'Adds two numbers.',
      inputSchema: { type: 'object', required: ['a', 'b'] },
      outputSchema: { type: 'number' },
      annotations: { readOnlyHint: true, idempotentHint: true },
    })
  })

  test('administrative operations are tools only if that is enabled, and for callers with their scopes', async () => {
    const [root, agent] = [createToken(), createToken()]
    const tokens = [
      { kind: 'bearer' as const, subject: 'root', hash: root.hash, scopes: ['*', 'callplane:admin'] },
      { kind: 'bearer' as const, subject: 'agent', hash: agent.hash, scopes: ['*'] },
    ]
    const offer = async (administration: boolean, { token }: typeof root) => {
      const site = await startSite({ operations: [add], auth: { tokens }, mcp: { administration } })
      const headers = { Authorization: `Bearer ${token}` }
      const { json: list } = await ask(site, 'tools/list', {}, { headers })
      const named = { name: 'callplane_approvals_list', arguments: {} }
      const { json: called } = await ask(site, 'tools/call', named, { headers })
      return [list.result.tools.some(({ name }) => name === named.name), called.error?.code]
    }
    expect(await offer(true, root)).toEqual([true, undefined])
    expect(await offer(true, agent)).toEqual([false, -32602])
    expect(await offer(false, root)).toEqual([false, -32602])
  })

  test('for older clients, values that are not objects are wrapped, in the schema and in the result', async () => {
    const site = await startSite({ operations: [add, order] })
    const { json: list } = await askOlder(site, 'tools/list')
    expect(Object.keys(list.result)).toEqual(['tools'])
    expect(list.result.tools[0].outputSchema).toMatchObject({
      type: 'object',
      properties: { result: { type: 'number' } },
      required: ['result'],
    })
    expect(list.result.tools[1].outputSchema.properties).toHaveProperty('paid')
    const { json } = await askOlder(site, 'tools/call', { name: 'math_add', arguments: { a: 1, b: 2 } })
    expect(json.result).toEqual({ content: [{ type: 'text', text: '3' }], structuredContent: { result: 3 } })
    const plain = await askOlder(site, 'tools/call', { name: 'orders_get', arguments: { id: 'o1' } })
    expect(plain.json.result.structuredContent).toEqual({ id: 'o1', paid: true })
  })

  test('administrative operations are offered to no model, for any caller', async () => {
    const { token, hash } = createToken()
    const site = await startSite({
      operations: [add],
      auth: { tokens: [{ hash, kind: 'bearer', subject: 'root', scopes: ['*', 'callplane:admin'] }] },
    })
    const headers = { Authorization: `Bearer ${token}` }
    const { json } = await ask(site, 'tools/list', {}, { headers })
    expect(json.result.tools.map((tool: { name: string }) => tool.name)).toEqual(['math_add'])
    const { json: called } = await ask(site, 'tools/call', { name: 'callplane_approvals_list' }, { headers })
    expect(called.error.code).toBe(-32602)
    const { json: registry } = await ask(site, 'resources/read', { uri: 'callplane://registry' }, { headers })
    expect(registry.result.contents[0].text).not.toContain('callplane.')
  })
})

describe('calling a tool', () => {
  test('the value comes as text and as it is', async () => {
    const site = await startSite({ operations: [add] })
    const { status, json } = await ask(site, 'tools/call', { name: 'math_add', arguments: { a: 1, b: 2 } })
    expect(status).toBe(200)
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { resultType: 'complete', content: [{ type: 'text', text: '3' }], structuredContent: 3 },
    })
  })

  test('a pinned version answers to its own name', async () => {
    const add2 = operation('v2:math.add', { run: () => 'two' })
    const site = await startSite({ operations: [add, add2] })
    const newest = await ask(site, 'tools/call', { name: 'math_add' })
    expect(newest.json.result.content[0].text).toBe('two')
    const first = await ask(site, 'tools/call', { name: 'math_add_v1', arguments: { a: 2, b: 2 } })
    expect(first.json.result.structuredContent).toBe(4)
  })

  test('invalid arguments produce a result that names the field, so that a model can correct its call', async () => {
    const site = await startSite({ operations: [add] })
    for (const asking of [ask, askOlder]) {
      const { status, json } = await asking(site, 'tools/call', { name: 'math_add', arguments: { a: 'one', b: 2 } })
      expect(status).toBe(200)
      expect(json.result.isError).toBe(true)
      expect(json.result.content[0].text).toContain('/a: ')
      expect(json.result._meta['callplane/error']).toMatchObject({ code: 'VALIDATION_ERROR', retryable: false })
    }
  })

  test('a failure says what, whether to try again, when and with what, and nothing that is for developers', async () => {
    const book = operation('v1:seats.book', {
      args: jsonSchema<{ seat: string }>({ type: 'object' }),
      run: (_, ctx) =>
        ctx.fail('SEAT_TAKEN', 'The seat is taken.', {
          retryable: true,
          retryAfterMs: 4_200,
          promptContent: 'Seats 12A and 12B are free.',
          developerMessage: 'lock table seats',
        }),
    })
    const site = await startSite({ operations: [book] })
    const { json } = await ask(site, 'tools/call', { name: 'seats_book', arguments: { seat: '1A' } })
    expect(json.result.content[0].text).toBe(
      'The seat is taken.\nCalling again with the same arguments may help, in 5 s.\nSeats 12A and 12B are free.',
    )
    expect(JSON.stringify(json)).not.toContain('lock table')
  })

  test('a thrown error keeps its text to itself', async () => {
    const broken = operation('v1:it.breaks', {
      run: () => {
        throw new Error('password=hunter2')
      },
    })
    const site = await startSite({ operations: [broken] })
    const { json } = await ask(site, 'tools/call', { name: 'it_breaks' })
    expect(json.result.isError).toBe(true)
    expect(JSON.stringify(json)).not.toContain('hunter2')
  })

  test('the same key joins the first call, and with other arguments it is refused', async () => {
    let runs = 0
    const charge = operation('v1:cards.charge', {
      sideEffecting: true,
      args: z.object({ cents: z.number() }),
      run: () => ++runs,
    })
    const site = await startSite({ operations: [charge] })
    const meta = { 'callplane/idempotencyKey': 'k1' }
    const params = { name: 'cards_charge', arguments: { cents: 5 } }
    const first = await ask(site, 'tools/call', params, { meta })
    const again = await ask(site, 'tools/call', params, { meta })
    expect([first.json.result.structuredContent, again.json.result.structuredContent, runs]).toEqual([1, 1, 1])
    const other = await ask(site, 'tools/call', { ...params, arguments: { cents: 6 } }, { meta })
    expect(other.json.result).toMatchObject({ isError: true })
    await ask(site, 'tools/call', params)
    expect(runs).toBe(2)
  })

  test('an operation that returns content of MCP has it passed on', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'AAAA' }
    const draw = operation('v1:it.draws', { run: () => ({ content: [image] }) })
    const site = await startSite({ operations: [draw] })
    const { json } = await ask(site, 'tools/call', { name: 'it_draws' })
    expect(json.result).toEqual({ resultType: 'complete', content: [image] })
  })
})

describe('a client without support for tasks', () => {
  const reporting = (gate: ReturnType<typeof createGate>, began = () => {}) =>
    operation('v1:reports.make', {
      model: 'async',
      run: async (_, ctx) => {
        began()
        ctx.progress(0.4, 'reading')
        return gate.pass()
      },
    })

  test('is answered when the call ends, having been told how far it was', async () => {
    const gate = createGate()
    const site = await startSite({ operations: [reporting(gate)] })
    const response = await site.request('/mcp', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'reports_make', _meta: { progressToken: 'p1' } },
      }),
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const first = await events?.read()
    expect(first?.value).toContain('"progressToken":"p1","progress":40,"total":100,"message":"reading"')
    gate.open({ rows: 3 })
    const last = await events?.read()
    expect(JSON.parse(last?.value?.replace(/^event: message\ndata: /, '') ?? '')).toMatchObject({
      id: 7,
      result: { structuredContent: { rows: 3 } },
    })
  })

  test('is told to repeat the call after a bounded wait: the same arguments join the call, and a further repeat starts a new one', async () => {
    const gate = createGate()
    const clock = createStepClock()
    let runs = 0
    const site = await startSite({ operations: [reporting(gate, () => runs++)], clock })
    const call = () => clock.passing(askOlder(site, 'tools/call', { name: 'reports_make', arguments: { month: 5 } }))
    const early = await call()
    expect(early.json.result.isError).toBe(true)
    expect(early.json.result.content[0].text).toMatch(/still running.*again with exactly the same arguments/)
    gate.open('done')
    expect((await call()).json.result.content[0].text).toBe('done')
    expect(runs).toBe(1)
    expect((await call()).json.result.content[0].text).toBe('done')
    expect(runs).toBe(2)
  })

  test('finds its call again after the server restarts', async () => {
    const clock = createStepClock()
    const data = temporaryFolder()
    let runs = 0
    const gate = createGate()
    const before = await startSite({ operations: [reporting(gate, () => runs++)], clock, data })
    const params = { name: 'reports_make', arguments: { month: 6 } }
    await clock.passing(askOlder(before, 'tools/call', params))
    await clock.passing(before.close())
    gate.open('done')
    const after = await startSite({ operations: [reporting(gate, () => runs++)], clock, data })
    const { json } = await clock.passing(askOlder(after, 'tools/call', params))
    expect(json.result.content[0].text).toBe('done')
    // The second server continues the call and does not start a new one.
    expect(runs).toBe(2)
  })
})

describe('older clients', () => {
  test('initialize answers with the version asked for, and an unknown one with one there is', async () => {
    const site = await startSite({ operations: [add], mcp: { name: 'sums', version: '1.0.0' } })
    const initialize = (protocolVersion: string) =>
      askOlder(site, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } }, {})
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
      const { json, headers } = await initialize(version)
      expect(json.result).toEqual({
        protocolVersion: version,
        capabilities: CAPABILITIES,
        serverInfo: { name: 'sums', version: '1.0.0' },
      })
      expect(headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]+$/)
    }
    expect((await initialize('1999-01-01')).json.result.protocolVersion).toBe('2025-11-25')
  })

  test('notifications get an empty 202, and ping gets a response', async () => {
    const site = await startSite({ operations: [add] })
    const noted = await send(site, { jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([noted.status, noted.json]).toEqual([202, undefined])
    expect((await askOlder(site, 'ping')).json.result).toEqual({})
  })
})

test('the dialect of an input schema is shown where it is declared, and nowhere else', async () => {
  const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'
  const declared = operation('v1:it.declares', { args: { $schema: DRAFT_7, type: 'object' }, run: () => 1 })
  const library = operation('v1:it.exports', { args: z.object({ a: z.string() }), run: () => 1 })
  const site = await startSite({ operations: [declared, library] })

  for (const asking of [ask, askOlder]) {
    const { tools } = (await asking(site, 'tools/list')).json.result
    expect(tools.map(({ inputSchema }) => (inputSchema as { $schema?: string }).$schema)).toEqual([DRAFT_7, undefined])
  }
})
