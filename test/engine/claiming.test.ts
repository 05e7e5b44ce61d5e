/** The claim loop, beside calls that end while a claim is under way. */
import { expect, test } from 'vitest'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { Claimed } from '../../src/core/ports/store.ts'
import { DEFAULT_LIMITS } from '../../src/engine/limits/limit-rules.ts'
import { Limits } from '../../src/engine/limits/limits.ts'
import { Claiming, type ClaimingParts } from '../../src/engine/run/claim-loop.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'

const ADA = { tenant: 'main', owner: 'none|ada' }
const ANY = { key: 'v1:any@1.0.0' } as unknown as Operation

test('calls left in the queue for want of slots are claimed if slots were freed meanwhile', async () => {
  const clock = createManualClock()
  const limits = new Limits({ ...DEFAULT_LIMITS, runningCalls: 64 }, clock)
  const claims: ((claimed: Claimed) => void)[] = []
  const parts = {
    env: { clock, log: { error() {} } },
    registry: { keys: [ANY.key], operations: [ANY] },
    store: { claim: () => new Promise<Claimed>((resolve) => void claims.push(resolve)) },
    limits,
    leaseMs: 1_000,
    claimEveryMs: 5_000,
    begin() {},
    giveBack: async () => {},
  }
  const claiming = new Claiming(parts as unknown as ClaimingParts)
  limits.onFreed = () => claiming.wake()
  // Ten slots are free, and eight of them are reserved for other callers.
  for (let n = 0; n < 54; n++) expect(limits.take(ANY, ADA)).toBe(true)
  for (let n = 0; n < 20; n++) limits.enqueued(ADA)

  claiming.wake()
  for (let n = 0; n < 54; n++) limits.ended(ANY, ADA)
  claims[0]?.({ instances: [] })

  await expect.poll(() => claims.length).toBe(2)
  // Nothing ended during the second claim: the loop waits for its timer.
  claims[1]?.({ instances: [] })
  await new Promise((resolve) => setImmediate(resolve))
  expect(claims).toHaveLength(2)
})
