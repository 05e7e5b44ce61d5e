/** Calls that take long, are repeated or aborted, or return files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { openTools, toAISDKTools, toAnthropicTools, toOpenAITools } from 'callplane/agents'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createGate, createStepClock } from '../scenarios/server.ts'
import { getOrder, refundOrder, serve, WAYS } from './site.ts'

const ID = 'call_2Vv0aTqfY8KzWn3mHc7R'

describe.each(WAYS)('by %s', (way) => {
  test('an async operation is waited for', async () => {
    const gate = createGate<number>()
    const report = operation('v1:reports.make', { model: 'async', result: z.number(), run: () => gate.pass() })
    const { sources } = await serve([report])
    const { call } = await openTools(sources[way])
    const called = call({ id: ID, name: 'reports_make', args: {} })
    await gate.began
    gate.open(42)
    expect(await called).toEqual({ isError: false, text: '42', value: 42, files: [] })
  })

  test('the model gets the result of a long call by repeating the same arguments, which starts no new call', async () => {
    const clock = createStepClock()
    const gate = createGate<string>()
    let runs = 0
    const report = operation('v1:reports.make', {
      model: 'async',
      sideEffecting: true,
      args: z.object({ month: z.string() }),
      run(_args, ctx) {
        runs++
        ctx.progress(0.5, 'half way')
        return gate.pass()
      },
    })
    const { sources } = await serve([report], { clock })
    const { call } = await openTools(sources[way], { rounds: 1 })
    const wanted = { name: 'reports_make', args: { month: '2026-01' } }
    const first = await clock.passing(call({ id: ID, ...wanted }))
    expect(first.isError).toBe(true)
    expect(first.text).toBe(
      'reports_make is still running (half way). Call it again with exactly the same arguments for its result: that joins this call and starts nothing twice.',
    )
    gate.open('done')
    expect(await clock.passing(call({ id: `${ID}-again`, ...wanted }))).toMatchObject({ isError: false, text: 'done' })
    expect(runs).toBe(1)
    await clock.passing(call({ id: `${ID}-new`, ...wanted }))
    expect(runs).toBe(2)
  })

  test('an abort ends the wait and cancels the call', async () => {
    const canceled = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const report = operation('v1:reports.make', {
      model: 'async',
      run: (_args, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            canceled.resolve()
            reject(signal.reason)
          })
          began.resolve()
        }),
    })
    const { sources } = await serve([report])
    const { call } = await openTools(sources[way])
    const leaving = new AbortController()
    const called = call({ id: ID, name: 'reports_make', args: {} }, { signal: leaving.signal })
    await began.promise
    leaving.abort(new Error('enough'))
    await expect(called).rejects.toThrow('enough')
    await canceled.promise
    await expect(call({ id: ID, name: 'reports_make', args: {} }, { signal: leaving.signal })).rejects.toThrow('enough')
  })

  test('the same for a sync one, which nothing but its client waits for', async () => {
    const canceled = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const look = operation('v1:orders.look', {
      run(_args, { signal }) {
        signal.addEventListener('abort', () => canceled.resolve())
        began.resolve()
        return canceled.promise
      },
    })
    const { sources } = await serve([look])
    const { call } = await openTools(sources[way])
    const leaving = new AbortController()
    const called = call({ id: ID, name: 'orders_look', args: {} }, { signal: leaving.signal })
    await began.promise
    leaving.abort(new Error('enough'))
    await expect(called).rejects.toThrow('enough')
    await canceled.promise
  })
})

test('a run that is repeated repeats no effect; other arguments, and counted ids of another run, are other calls', async () => {
  let runs = 0
  const pay = operation('v1:orders.pay', {
    args: z.object({ id: z.string() }),
    sideEffecting: true,
    run: () => ++runs,
  })
  const { sources } = await serve([pay])
  const callIn = async (session: string | undefined, id: string, order: string) => {
    const { call } = await openTools(sources.url, { ...(session !== undefined && { session }) })
    return (await call({ id, name: 'orders_pay', args: { id: order } })).text
  }
  expect(await callIn(undefined, ID, 'o1')).toBe('1')
  expect(await callIn(undefined, ID, 'o1')).toBe('1')
  expect(await callIn(undefined, ID, 'o2')).toBe('2')
  expect(await callIn(undefined, 'call_0', 'o1')).toBe('3')
  expect(await callIn(undefined, 'call_0', 'o1')).toBe('4')
  expect(await callIn('chat 7', 'call_0', 'o1')).toBe('5')
  expect(await callIn('chat 7', 'call_0', 'o1')).toBe('5')
  expect(await callIn('chat 8', 'call_0', 'o1')).toBe('6')
})

test('a model gets the tools that were selected, and none that administer the server', async () => {
  const { site, sources } = await serve([getOrder, refundOrder])
  const token = readFileSync(join(site.data, 'admin.token'), 'utf8').trim()
  const all = await openTools({ url: site.url, token })
  expect(all.list.map(({ name }) => name)).toEqual(['orders_get', 'orders_refund'])
  const some = await openTools(sources.url, { select: (name) => name !== 'orders_refund' })
  expect(some.list.map(({ name }) => name)).toEqual(['orders_get'])
  expect(await some.call({ id: ID, name: 'orders_refund', args: { id: 'o1' } })).toMatchObject({ isError: true })
})

test('a choice of arguments is one object for the model, and still a choice for the server', async () => {
  const area = operation('v1:shapes.area', {
    args: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), radius: z.number() }),
      z.object({ kind: z.literal('square'), side: z.number() }),
    ]),
    run: (shape) => (shape.kind === 'square' ? shape.side ** 2 : shape.radius),
  })
  const { sources } = await serve([area])
  const { list, call } = await openTools(sources.url)
  expect(list[0]?.parameters).toEqual({
    type: 'object',
    properties: {
      kind: {
        anyOf: [
          { type: 'string', const: 'circle' },
          { type: 'string', const: 'square' },
        ],
      },
      radius: { type: 'number' },
      side: { type: 'number' },
    },
    required: ['kind'],
  })
  expect(await call({ id: ID, name: 'shapes_area', args: { kind: 'square', side: 3 } })).toMatchObject({ text: '9' })
  expect(await call({ id: ID, name: 'shapes_area', args: { kind: 'square', radius: 3 } })).toMatchObject({
    isError: true,
  })
})

test('an argument that the schema maps to a header is sent in that header, with any characters', async () => {
  const args = {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  }
  const { sources } = await serve([operation('v1:stock.count', { args, run: ({ region }) => String(region) })])
  const { call } = await openTools(sources.url)
  for (const region of ['west', 'Zürich', ' =?base64?']) {
    expect(await call({ id: ID, name: 'stock_count', args: { region } })).toMatchObject({
      isError: false,
      text: region,
    })
  }
})

describe('a result that is a file', () => {
  const PIXEL = 'iVBORw0KGgo='
  const draw = operation('v1:pictures.draw', {
    run: (_args, ctx) => ctx.object(Buffer.from(PIXEL, 'base64'), { mimeType: 'image/png' }),
  })

  test('is a picture where the provider takes one, and a note where it does not', async () => {
    const { sources } = await serve([draw])
    const name = 'pictures_draw'
    const chat = await toOpenAITools(sources.url)
    const asked = await chat.call({ id: 'call_1', type: 'function', function: { name, arguments: '' } })
    expect(asked.content).toBe('[A file of type image/png, which cannot be shown here.]')
    const responses = await toOpenAITools(sources.url, { api: 'responses' })
    const item = await responses.call({ type: 'function_call', call_id: 'call_1', name, arguments: '{}' })
    expect(item.output).toEqual([{ type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' }])
    const anthropic = await toAnthropicTools(sources.url)
    const block = await anthropic.call({ type: 'tool_use', id: 'toolu_1', name, input: {} })
    expect(block.content).toEqual([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }])
    const { [name]: tool } = await toAISDKTools(sources.url)
    const output = await tool?.execute({}, { toolCallId: '1' })
    expect(output && tool?.toModelOutput({ output })).toEqual({
      type: 'content',
      value: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: PIXEL } }],
    })
  })

  test('is read for the model if it is text, up to the length limit', async () => {
    const list = operation('v1:orders.export', {
      args: z.object({ rows: z.int() }),
      chunked: { mimeType: 'text/csv' },
      *run({ rows }) {
        for (let row = 0; row < rows; row++) yield `${row},ok\n`
      },
    })
    const { sources } = await serve([list])
    const { call } = await openTools(sources.url)
    const few = await call({ id: `${ID}1`, name: 'orders_export', args: { rows: 2 } })
    expect(few).toMatchObject({ isError: false, text: '0,ok\n1,ok\n' })
    const many = await call({ id: `${ID}2`, name: 'orders_export', args: { rows: 20_000 } })
    expect(many.text).toMatch(/\n\[The first 100000 of \d+ characters\.\]$/)
  })
})
