/** Lines of hints are put together into notifications, whose size Postgres limits in bytes. */
import { expect, test } from 'vitest'
import { joinLines } from '../../src/stores/postgres/nodes/side-line.ts'

test('lines of any characters travel together, as many as fit', () => {
  const lines = Array.from({ length: 200 }, (_, n) => `${n} ${'漢'.repeat(30)}`)

  const payloads = [...joinLines(new Set(lines))]

  expect(payloads.join('\n').split('\n')).toEqual(lines)
  for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000)
  expect(payloads.length).toBe(3)
})
