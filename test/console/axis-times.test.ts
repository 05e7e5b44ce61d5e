/** The times below the charts of the console. */
import { expect, test } from 'vitest'
import { axisTimes } from '../../console/src/health/axis-times.ts'

const at = (time: string) => Date.parse(time) / 1000

test('times have 24 hours, and the first one of a day has the date', () => {
  const times = ['2026-10-30T22:00Z', '2026-10-30T23:30Z', '2026-10-31T00:00Z', '2026-10-31T13:05Z'].map(at)

  const [first, second, third, last] = axisTimes(times, 1_800, 'UTC')

  expect(first).toMatch(/^22:00\n.*30.* UTC$/)
  expect(second).toBe('23:30')
  expect(third).toMatch(/^00:00\n.*31.* UTC$/)
  expect(last).toBe('13:05')
})

test('steps below a minute have seconds', () => {
  expect(axisTimes([at('2026-10-31T13:05:20Z')], 10, 'UTC')[0]).toMatch(/^13:05:20\n/)
})
