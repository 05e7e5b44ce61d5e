/** Durations as people read them. */
import { expect, test } from 'vitest'
import { durationOf } from '../../console/src/design/duration.ts'

test('a duration has two units, and one if nothing is left over', () => {
  const shown = [12, 1_500, 30_000, 180_000, 200_000, 119_600, 3_600_000, 5_400_000, 86_400_000, 129_600_000]

  expect(shown.map(durationOf)).toEqual([
    '12 ms',
    '1.5 s',
    '30 s',
    '3 min',
    '3 min 20 s',
    '2 min',
    '1 h',
    '1 h 30 min',
    '1 d',
    '1 d 12 h',
  ])
})
