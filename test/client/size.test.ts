/** How large the client is in a page: bundled, minified and compressed. */
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

async function compressedBytes(entry: string): Promise<number> {
  const input = join(import.meta.dirname, '../../src/client', entry)
  const bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  expect(output).toHaveLength(1)
  expect(output[0].imports).toEqual([])
  return gzipSync(output[0].code, { level: 9 }).length
}

test.each([
  ['calls.ts', 5_000],
  ['index.ts', 12_000],
  ['websocket/index.ts', 9_000],
])('%s is at most %d bytes, and imports nothing', async (entry, maxBytes) => {
  expect(await compressedBytes(entry)).toBeLessThanOrEqual(maxBytes)
})
