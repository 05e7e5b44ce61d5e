/** Nodes that share a store count their limits together, and stop each other's calls, through what the store offers. */
import { join } from 'node:path'
import { operation, type Store } from 'callplane'
import { expect, test } from 'vitest'
import type { Peers } from '../../src/core/ports/peers.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

/** Two nodes on one store. Their shared limits have `slots` places for each operation. */
async function startTwo(slots: number, run: () => unknown) {
  const clock = createStepClock()
  const data = temporaryFolder()
  const kept = createSqliteStore({ file: join(data, 'callplane.db'), clock })
  const taken = new Map<string, number>()
  const stops: string[] = []
  const peers: Peers = {
    limits: {
      takeToken: async () => 0,
      async enter(key) {
        const now = taken.get(key) ?? 0
        if (now < slots) taken.set(key, now + 1)
        return now < slots
      },
      entered: (key) => void taken.set(key, (taken.get(key) ?? 0) + 1),
      leave: (key) => void taken.set(key, (taken.get(key) ?? 1) - 1),
      counted() {},
      listen() {},
    },
    siblings: {
      stop: (id) => void stops.push(id),
      listen() {},
      anyoneElse: () => async () => false,
      sharedSet: () => new Set(),
    },
  }
  const store: Store = { ...kept, peers, async close() {} }
  const work = operation('v1:rows.scan', { sideEffecting: true, idempotencyRequired: false, concurrency: 1, run })
  const limits = { slotWaitMs: 0 }
  // Nodes on one store have the same keys.
  const keys = { vault: { key: '0'.repeat(64) }, links: { key: '1'.repeat(64) } }
  const start = (name: string) =>
    startSite({ operations: [work], clock, data: join(data, name), store, limits, ...keys })
  return { one: await start('one'), two: await start('two'), stops, kept }
}

test('a slot that one node has taken is not free on the other', async () => {
  const gate = createGate<number>()
  const { one, two } = await startTwo(1, () => gate.pass())

  const first = one.call('v1:rows.scan', {}, { requestId: 'scan-1' })
  await gate.began
  const refused = await two.call('v1:rows.scan', {}, { requestId: 'scan-2' })
  gate.open(1)

  expect(refused.body.error?.code).toBe('PANIC_BUSY')
  expect((await first).body).toMatchObject({ state: 'complete', result: 1 })
})

test('a call that runs on one node is stopped through the other', async () => {
  const gate = createGate<number>()
  const { one, two, stops, kept } = await startTwo(2, () => gate.pass())

  const running = one.call('v1:rows.scan', {}, { requestId: 'scan-1' })
  await gate.began
  const canceling = fetch(`${two.url}/ops/scan-1`, { method: 'DELETE' })
  await expect.poll(() => stops.length).toBe(1)
  gate.open(1)
  await Promise.all([running, canceling])

  expect((await kept.get(stops[0] as string))?.requestId).toBe('scan-1')
})
