/** Creates valid instances for tests. A test overrides the fields that matter to it. */
import { randomUUID } from 'node:crypto'
import type { Instance } from '../../core/call/instance.ts'

/** The ids of calls are UUIDs. These sort by their number. */
export function sampleId(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
}

export function sampleInstance(now: number, changes: Partial<Instance> = {}): Instance {
  const id = randomUUID()
  return {
    id,
    tenant: 'main',
    owner: 'none|ada',
    caller: { tenant: 'main', issuer: 'none', subject: 'ada', scopes: ['reports:write'] },
    requestId: id,
    operation: 'v1:reports.generate@1.0.0',
    model: 'async',
    args: { month: '2026-01' },
    media: [],
    fingerprint: 'f1',
    lineage: [],
    state: 'accepted',
    revision: 1,
    attempt: 0,
    settled: 0,
    failures: 0,
    rerunnable: true,
    stopRequested: false,
    createdAt: now,
    expiresAt: now + 3_600_000,
    keepUntil: now + 86_400_000,
    ...changes,
  }
}
