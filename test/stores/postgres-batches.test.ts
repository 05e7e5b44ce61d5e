/** How requests that wait together are divided into batches. */
import { expect, test } from 'vitest'
import type { Connection } from '../../src/stores/postgres/connect/session.ts'
import { Batches, type Shape } from '../../src/stores/postgres/writes/batches.ts'

/** The sizes of the batches in which so many requests are sent at once. */
async function sizesOf(requests: number, shared: boolean): Promise<number[]> {
  const sizes: number[] = []
  const shape: Shape<number, void> = {
    key: 'sum',
    most: 256,
    async run(_session, items) {
      sizes.push(items.length)
      for (const item of items) item.done()
    },
  }
  const connections = Array.from({ length: 4 }, () => ({ open: async () => {} }) as unknown as Connection)
  const batches = new Batches({
    connections,
    down: () => undefined,
    unreachable: () => {},
    missingTable: async () => {},
    log: undefined,
    shared: () => shared,
    doubtMs: 1_000,
  })
  await Promise.all(Array.from({ length: requests }, (_, n) => batches.add(shape, n)))
  return sizes
}

test('a node that is alone on its database sends two batches at a time, and small ones only at the end', async () => {
  expect(await sizesOf(128, false)).toEqual([64, 64])
  expect(await sizesOf(40, false)).toEqual([32, 8])
  expect(await sizesOf(1_000, false)).toEqual([256, 256, 256, 232])
})

test('a node among others sends all that waits in one batch', async () => {
  expect(await sizesOf(128, true)).toEqual([128])
})
