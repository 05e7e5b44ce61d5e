import { expect, test } from 'vitest'
import { barText } from '../../src/cli/terminal/progress-bar.ts'

test('the bar says from the second attempt on which one it shows', () => {
  const bar = (progress: Parameters<typeof barText>[1]) => barText('pending', progress, 80).replace(/^\S+\s+/, '')

  expect([
    bar({ fraction: 0.5, message: 'half way', attempt: 1 }),
    bar({ fraction: 0, attempt: 2 }),
    bar({ fraction: 0.5, message: 'half way', attempt: 2 }),
  ]).toEqual(['50%  half way', '0%  attempt 2: pending', '50%  attempt 2: half way'])
})
