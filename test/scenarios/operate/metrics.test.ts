/** The load over time agrees with `/metrics`, and outlives the server. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { inSqlite } from '../places.ts'
import { createStepClock } from '../server.ts'
import { boundsOf, readCounters, type Series, sumOf, valuesOf } from './load.ts'
import { openWorks } from './operators.ts'

const SERIES = 'v1:callplane.metrics.series'

test('every step has what /metrics counted in it, for each operation and for all', async () => {
  const clock = createStepClock(Date.parse('2026-01-01T00:00:00Z'))
  const add = operation('v1:math.add', {
    run: () => {
      clock.advance(30)
      return 3
    },
  })
  const fail = operation('v1:math.fail', { run: (_, ctx) => ctx.fail('NO', 'No.') })
  const works = await openWorks({ clock, operations: [add, fail] })
  const { headers } = works.people.reader
  const read = (args: object) => works.result<Series>('reader', SERIES, { from: '2026-01-01T00:00:00Z', ...args })
  const counted: { calls: number; errors: number; added: number }[] = []
  const step = async (calls: number, failures: number) => {
    for (let n = 0; n < calls; n++) await works.as('ada', 'v1:math.add')
    for (let n = 0; n < failures; n++) await works.as('ada', 'v1:math.fail')
    const all = await readCounters([works], headers)
    counted.push({ ...all, added: (await readCounters([works], headers, 'v1:math.add')).calls })
    clock.advance(10_000 - (clock.now() % 10_000))
    await expect.poll(async () => sumOf(await read({ names: ['calls'] }), 'calls')).toBe(all.calls)
    return all
  }
  const first = await step(3, 1)
  await step(0, 0)
  await step(2, 0)
  await step(0, 2)

  const all = await read({ names: ['calls', 'errors', 'p50Ms', 'p99Ms', 'memoryBytes', 'running'] })
  const one = await read({ names: ['calls'], operation: 'v1:math.add' })

  const inStep = (name: 'calls' | 'errors' | 'added') =>
    counted.map((now, at) => now[name] - (counted[at - 1]?.[name] ?? 0))
  const filled = (values: readonly (number | null)[]) => values.map((value) => value ?? 0)
  expect(all.times[0]).toBe('2026-01-01T00:00:00.000Z')
  expect(filled(valuesOf(all, 'calls'))).toEqual(inStep('calls'))
  expect(filled(valuesOf(all, 'errors'))).toEqual(inStep('errors'))
  expect(filled(valuesOf(one, 'calls'))).toEqual(inStep('added'))
  expect(valuesOf(all, 'calls')[1]).toBeNull()
  for (const [name, share] of [
    ['p50Ms', 0.5],
    ['p99Ms', 0.99],
  ] as const) {
    const [from, to] = boundsOf(first, share)
    expect(valuesOf(all, name)[0]).toBeGreaterThan(from)
    expect(valuesOf(all, name)[0]).toBeLessThanOrEqual(to)
  }
  expect(all.series.find(({ name }) => name === 'memoryBytes')).toMatchObject({ node: 1 })
  expect(one.series).toEqual([{ name: 'calls', operation: 'v1:math.add', values: expect.any(Array) }])
})

test('the load of before is there after a new start', async () => {
  const clock = createStepClock(Date.parse('2026-01-01T00:00:00Z'))
  const place = inSqlite()
  const add = operation('v1:math.add', { run: () => 3 })
  const before = await openWorks({ clock, operations: [add] }, () => place)
  for (let n = 0; n < 4; n++) await before.as('ada', 'v1:math.add')
  const callsIn = async ({ result }: Pick<typeof before, 'result'>) =>
    sumOf(await result<Series>('reader', SERIES, { from: '2026-01-01T00:00:00Z', names: ['calls'] }), 'calls')
  clock.advance(10_000)
  await expect.poll(() => callsIn(before)).toBe(4)
  await clock.passing(before.close())

  const after = await openWorks({ clock, operations: [add] }, () => place)

  expect(await callsIn(after)).toBe(4)
  expect((await readCounters([after], after.people.reader.headers)).calls).toBe(0)
})

test('too many points, and steps that are too short, are refused', async () => {
  const works = await openWorks()

  const many = await works.as('reader', SERIES, { from: '2020-01-01T00:00:00Z' })
  const short = await works.as('reader', SERIES, { stepSeconds: 1 })
  const none = await works.as('ada', SERIES, {})

  expect(many.body.error?.code).toBe('VALIDATION_ERROR')
  expect(short.body.error?.code).toBe('VALIDATION_ERROR')
  expect(none.body.error?.code).toBe('UNKNOWN_OP')
})
