/** Calls through the typed client against a real server. */
import { operation } from 'callplane'
import { createClient, isFault, safe } from 'callplane/client/calls'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { createGate, startSite } from '../scenarios/server.ts'

const getItem = operation('v1:orders.getItem', {
  args: z.object({ id: z.string() }),
  result: z.object({ name: z.string() }),
  run: ({ id }, ctx) => (id === 'none' ? ctx.fail('NO_ITEM', 'There is no such item.') : { name: `item ${id}` }),
})
const getItem2 = operation('v2:orders.getItem', {
  args: z.object({ id: z.number() }),
  result: z.number(),
  run: ({ id }) => id * 2,
})
const report = operation('v1:reports.generate', {
  args: z.object({ month: z.string().default('2026-01') }),
  result: z.object({ rows: z.number() }),
  model: 'async',
  run: (_args, ctx) => {
    ctx.progress(0.5, 'half way')
    return { rows: 3 }
  },
})
const ping = operation('v1:ping', { run: () => 'pong' })

const operations = { getItem, getItem2, report, ping, notAnOperation: 7 }

async function startClient() {
  const site = await startSite({ operations: [getItem, getItem2, report, ping] })
  return createClient<typeof operations>({ url: site.url })
}

test('an operation is a function with its own types, and another major is below its name', async () => {
  const api = await startClient()

  const item = await api.orders.getItem({ id: '7' })
  const double = await api.v2.orders.getItem({ id: 4 })
  const named = await api.call('v1:orders.getItem', { id: '8' })

  expectTypeOf(item).toEqualTypeOf<{ name: string }>()
  expectTypeOf(double).toEqualTypeOf<number>()
  expectTypeOf(named).toEqualTypeOf<{ name: string }>()
  expect([item, double, named, await api.ping()]).toEqual([{ name: 'item 7' }, 8, { name: 'item 8' }, 'pong'])
  // @ts-expect-error: the id is text
  expect(await api.orders.getItem({ id: 7 }).catch((fault) => fault.code)).toBe('VALIDATION_ERROR')
  // @ts-expect-error: there is no such operation
  expect(await api.orders.nothing({}).catch((fault) => fault.code)).toBe('UNKNOWN_OP')
})

test('a failure is a fault with its code, thrown or as a union', async () => {
  const api = await startClient()

  const thrown = await api.orders.getItem({ id: 'none' }).catch((fault: unknown) => fault)
  const settled = await safe(api.orders.getItem({ id: 'none' }))
  const fine = await safe(api.orders.getItem({ id: '1' }))

  expect(isFault(thrown, 'NO_ITEM')).toBe(true)
  expect(isFault(thrown, 'OTHER')).toBe(false)
  expect(thrown).toMatchObject({ outcome: 'failed', operation: 'v1:orders.getItem', message: 'There is no such item.' })
  expect(settled.ok ? '' : settled.fault.code).toBe('NO_ITEM')
  expect(fine.ok && fine.result.name).toBe('item 1')
})

test('a run has an id, progress and a result, and can be resumed', async () => {
  const api = await startClient()

  const run = await api.reports.generate.start({ month: '2026-02' })
  const result = await run.result()

  expectTypeOf(result).toEqualTypeOf<{ rows: number }>()
  expect(result).toEqual({ rows: 3 })
  expect(run.state).toBe('complete')
  expect(await api.reports.generate.resume(run.id).result()).toEqual({ rows: 3 })
  expect(await api.resume<{ rows: number }>(run.id).result()).toEqual({ rows: 3 })
  expect(await api.reports.generate()).toEqual({ rows: 3 })
})

test('a closed client ends the calls that are under way, and takes no more', async () => {
  const began = createGate()
  const slow = operation('v1:slow', {
    run: async () => {
      await began.pass()
      return null
    },
  })
  const site = await startSite({ operations: [slow, ping] })
  const api = createClient<{ slow: typeof slow; ping: typeof ping }>({ url: site.url })
  const calling = api.slow().catch((fault) => fault)
  await began.began

  api.close()

  expect(await calling).toMatchObject({ code: 'ABORTED', outcome: 'unknown', operation: 'v1:slow' })
  expect(await api.ping().catch((fault) => fault.code)).toBe('ABORTED')
  began.open(1)
})
