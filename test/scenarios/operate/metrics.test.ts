/** The load over time agrees with `/metrics`, and outlives the server. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { createStepClock } from '../server.ts'
import { openWorks } from './operators.ts'

const SERIES = 'v1:callplane.metrics.series'

interface Result {
  times: string[]
  series: { name: string; operation?: string; node?: number; values: (number | null)[] }[]
}

const sum = (values: readonly (number | null)[] = []) => values.reduce<number>((all, value) => all + (value ?? 0), 0)

test('the counts of all steps are those of /metrics, for each operation and for all', async () => {
  const clock = createStepClock(Date.parse('2026-01-01T00:00:00Z'))
  const add = operation('v1:math.add', { run: () => 3 })
  const fail = operation('v1:math.fail', { run: (_, ctx) => ctx.fail('NO', 'No.') })
  const works = await openWorks({ clock, operations: [add, fail], deadLetters: { keepDays: 1 } })
  const step = async (calls: number, failures: number) => {
    for (let n = 0; n < calls; n++) await works.as('ada', 'v1:math.add')
    for (let n = 0; n < failures; n++) await works.as('ada', 'v1:math.fail')
    clock.advance(10_000)
    // The sample is written when a later write of the same store has ended.
    await clock.passing(works.ids(), 1)
  }
  await step(3, 1)
  await step(0, 0)
  await step(2, 0)
  await step(0, 0)
  const read = (args: object) => works.result<Result>('reader', SERIES, { from: '2026-01-01T00:00:00Z', ...args })

  const all = await read({ names: ['calls', 'errors', 'p50Ms', 'memoryBytes', 'running'] })
  const one = await read({ names: ['calls'], operation: 'v1:math.add' })

  const of = (name: string) => all.series.find((series) => series.name === name)
  expect(all.times[0]).toBe('2026-01-01T00:00:00.000Z')
  expect(sum(of('calls')?.values)).toBe(6)
  expect(sum(of('errors')?.values)).toBe(1)
  expect(of('calls')?.values[0]).toBe(4)
  expect(of('calls')?.values[1]).toBeNull()
  expect(of('memoryBytes')).toMatchObject({ node: 1 })
  expect(one.series).toEqual([{ name: 'calls', operation: 'v1:math.add', values: expect.any(Array) }])
  expect(sum(one.series[0]?.values)).toBe(5)
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
