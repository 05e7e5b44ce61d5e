/** Ids of calls have one form, on pages with and without a secure context. */
import { webcrypto } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { newId } from '../../src/client/ids.ts'

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

afterEach(() => void vi.unstubAllGlobals())

test.each([
  ['a secure page', crypto],
  [
    'a page without "randomUUID"',
    { getRandomValues: (into: Uint8Array<ArrayBuffer>) => webcrypto.getRandomValues(into) },
  ],
])('ids on %s are UUIDs of version 7 that begin with the time, and differ', (_page, given) => {
  vi.stubGlobal('crypto', given)
  vi.spyOn(Date, 'now').mockReturnValue(0x0199_1234_5678)
  const ids = Array.from({ length: 1_000 }, newId)
  vi.restoreAllMocks()
  for (const id of ids) expect(id).toMatch(VERSION_7)
  expect(new Set(ids).size).toBe(1_000)
  expect(new Set(ids.map((id) => id.slice(0, 13)))).toEqual(new Set(['01991234-5678']))
})
