/** The shortcut that computes most ended instances without reading them back keeps every field of an instance. */
import { expect, test } from 'vitest'
import { applyChange } from '../../src/core/call/applied-change.ts'
import type { Instance } from '../../src/core/call/instance.ts'
import { ADA, OWNER } from './node.ts'

/** With everything that an instance can have; a field that is added does not compile until it is here. */
const FULL: Required<Instance> = {
  id: 'i-1',
  tenant: 'main',
  owner: OWNER,
  caller: ADA,
  requestId: 'r-1',
  sessionId: 's-1',
  parentId: 'r-0',
  operation: 'v1:it.works@1.0.0',
  model: 'async',
  args: { a: 1 },
  media: [],
  fingerprint: 'f',
  idempotencyKey: 'k-1',
  lineage: ['v1:it.calls@1.0.0'],
  locale: 'de',
  traceparent: '00-1',
  state: 'pending',
  revision: 3,
  attempt: 2,
  settled: 1,
  failures: 1,
  rerunnable: true,
  stopRequested: true,
  told: true,
  progress: { fraction: 0.5 },
  outcome: { kind: 'result', value: 1 },
  createdAt: 1,
  expiresAt: 2,
  keepUntil: 3,
  dueAt: 4,
  endedAt: 5,
  extras: { rule: 'r' },
  waiting: { for: 'it' },
  answer: 42,
}

test('a field that a change does not have is kept, except the due time', () => {
  const { dueAt: _gone, ...rest } = FULL
  const after = applyChange(FULL, { id: 'i-1', from: ['pending'], to: 'complete' })
  expect(after).toEqual({ ...rest, state: 'complete', revision: 4 })
})

test('a field that a change has is set', () => {
  const change = {
    outcome: { kind: 'result' as const, value: 2 },
    settled: 2,
    failures: 2,
    dueAt: 10,
    expiresAt: 11,
    keepUntil: 12,
    endedAt: 13,
    extras: { rule: 's' },
  }
  const after = applyChange(FULL, {
    id: 'i-1',
    from: ['pending'],
    to: 'error',
    releaseKey: true,
    waiting: null,
    ...change,
  })
  const { idempotencyKey: _key, waiting: _waiting, answer: _answer, ...rest } = FULL
  expect(after).toEqual({ ...rest, state: 'error', revision: 4, ...change })
})
