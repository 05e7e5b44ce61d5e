/**
 * The store keeps the counts of open calls. It reads them from the file once, and again only after a change that makes
 * them uncertain.
 */
import { expect, test } from 'vitest'
import type { State } from '../../src/core/call/state.ts'
import { statesBefore } from '../../src/core/call/state.ts'
import { type CountedRow, OpenCalls } from '../../src/stores/sqlite/open-calls.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'

function openCounted(rows: readonly CountedRow[] = []) {
  const reads = { count: 0 }
  const openCalls = new OpenCalls(() => {
    reads.count++
    return rows
  })
  return { openCalls, reads }
}

const end = (id: string, from: readonly State[] = statesBefore('complete')) => ({ id, from, to: 'complete' as const })

test('calls that come and go are counted without reading the file again', () => {
  const call = sampleInstance(0, { owner: 'none|ada', operation: 'v1:a@1.0.0' })
  const left = { tenant: 'main', owner: 'none|bob', operation: 'v1:a@1.0.0', open: 2, queued: 1 }
  const { openCalls, reads } = openCounted([left])
  openCalls.counts()

  for (let n = 0; n < 1_000; n++) {
    openCalls.accepted(call)
    openCalls.claimed({ ...call, attempt: 1 })
    if (n > 0) openCalls.advanced(end(call.id), { ...call, attempt: 1, state: 'complete' })
  }
  const counts = openCalls.counts()

  expect(reads.count).toBe(1)
  expect(counts.queued).toBe(1)
  expect([...counts.byOwner].sort()).toEqual([
    ['main', 'none|ada', 1],
    ['main', 'none|bob', 2],
  ])
  expect([...counts.byOperation]).toEqual([['v1:a@1.0.0', 3]])
})

test('after a transaction that was undone, or a change that may reopen a call, the file is counted again', () => {
  const { openCalls, reads } = openCounted()
  const call = sampleInstance(0)
  openCalls.counts()

  openCalls.accepted(call)
  openCalls.doubt()
  expect([openCalls.counts().queued, reads.count]).toEqual([0, 2])
  openCalls.advanced(end(call.id, ['complete']), call)
  expect([openCalls.counts().queued, reads.count]).toEqual([0, 3])
})
