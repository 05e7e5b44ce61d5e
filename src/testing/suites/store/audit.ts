/** Part of the store suite: the audit trail. */
import { createHash } from 'node:crypto'
import type { Instance } from '../../../core/call/instance.ts'
import { statesBefore } from '../../../core/call/state.ts'
import type { AuditEnding, AuditEntry, AuditMatch, AuditQuery } from '../../../core/ports/store.ts'
import { expireNow } from '../../fakes/expire-now.ts'
import { sampleId, sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const USUAL: AuditEnding = { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' }

function entryFor(instance: Instance, endedAt: number, ending: AuditEnding): AuditEntry {
  const { id, tenant, owner, requestId, operation, fingerprint = '', createdAt: startedAt } = instance
  return { id, tenant, owner, requestId, operation, fingerprint, ...ending, startedAt, endedAt }
}

export function entryOf(id: string, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id,
    tenant: 'main',
    owner: 'none|ada',
    requestId: `r-${id}`,
    operation: 'v1:reports.generate@1.0.0',
    fingerprint: 'f1',
    verdict: 'allow',
    backend: 'handler',
    attempts: 1,
    outcome: 'complete',
    startedAt: 1_000,
    endedAt: 2_000,
    ...changes,
  }
}

export function describeAudit({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('the audit trail', () => {
    story('entries are read back unchanged, newest first, in pages', async ({ audit }) => {
      const full = entryOf('4', {
        verdict: 'deny',
        rule: 'p.yaml#ü',
        approvalId: 'a1',
        outcome: 'forbidden',
        code: 'X',
      })
      for (const entry of [entryOf('2'), full, entryOf('1'), entryOf('3')]) await audit.append(entry)

      const first = await audit.list({ tenant: 'main', limit: 3 })
      const rest = await audit.list({ tenant: 'main', limit: 3, before: '2' })

      expect(first).toEqual([full, entryOf('3'), entryOf('2')])
      expect(rest).toEqual([entryOf('1')])
    })

    story('a list has only entries of its tenant, and can be limited to one owner or operation', async ({ audit }) => {
      const bob = entryOf('2', { owner: 'none|bob' })
      const other = entryOf('3', { operation: 'v1:other@1.0.0' })
      for (const entry of [entryOf('1'), bob, other, entryOf('4', { tenant: 'other' })]) await audit.append(entry)
      const list = (query: { owner?: string; operation?: string }) => audit.list({ tenant: 'main', limit: 9, ...query })

      expect(await list({})).toEqual([other, bob, entryOf('1')])
      expect(await list({ owner: 'none|bob' })).toEqual([bob])
      for (const operation of ['v1:other@1.0.0', 'v1:other', 'v1:oth*', 'v1:other@*'])
        expect(await list({ operation })).toEqual([other])
      for (const operation of ['v1:other@1.0.', 'v1:oth', 'v1:%*', 'v1:_ther'])
        expect(await list({ operation })).toEqual([])
      expect(await list({ owner: 'none|bob', operation: 'v1:other@1.0.0' })).toEqual([])
    })

    story(
      'a list can be limited to values of its entries, before and after their calls are removed',
      async (store, clock) => {
        const id = sampleId(2)
        const instance = sampleInstance(clock.now(), {
          id,
          requestId: 'asked',
          keepUntil: clock.now(),
          expiresAt: clock.now(),
        })
        const said = { ...USUAL, rule: 'p"#"code":"X"', outcome: 'timeout', code: 'LATE' }
        await store.accept(instance)
        await store.advance({ id, from: statesBefore('error'), to: 'error', endedAt: clock.now(), audit: said })
        await store.audit.append(entryOf(sampleId(1)))
        await store.audit.append(
          entryOf(sampleId(3), { verdict: 'deny', rule: 'p#\u0000é', outcome: 'forbidden', code: 'X' }),
        )
        const found = async (matching: AuditMatch, more: Partial<AuditQuery> = {}) => {
          const entries = await store.audit.list({ tenant: 'main', limit: 9, matching, ...more })
          return entries.map((entry) => entry.id)
        }

        for (const purged of [[], [id]]) {
          await expireNow(store, purged)
          expect(await found({ outcome: 'complete' })).toEqual([sampleId(1)])
          expect(await found({ verdict: 'allow' })).toEqual([id, sampleId(1)])
          expect(await found({ verdict: 'deny' })).toEqual([sampleId(3)])
          expect(await found({ code: 'LATE', outcome: 'timeout' })).toEqual([id])
          expect(await found({ code: 'X' })).toEqual([sampleId(3)])
          expect(await found({ rule: 'p"#"code":"X"' })).toEqual([id])
          expect(await found({ rule: 'p#\u0000é' })).toEqual([sampleId(3)])
          expect(await found({ requestId: 'asked' })).toEqual([id])
          expect(await found({ requestId: 'aske' })).toEqual([])
          expect(await found({}, { from: id })).toEqual([sampleId(3), id])
          expect(await found({}, { tenant: 'other' })).toEqual([])
        }
      },
    )

    story('the horizon bounds how many entries a list reads', async ({ audit, ...store }, clock) => {
      const ids = [1, 2, 3, 4].map(sampleId)
      for (const id of ids) await audit.append(entryOf(id))
      const kept = sampleInstance(clock.now(), { id: sampleId(5) })
      await store.accept(kept)
      const end = { from: statesBefore('complete'), to: 'complete' as const, endedAt: clock.now(), audit: USUAL }
      await store.advance({ id: kept.id, ...end })

      expect(await audit.horizon({ tenant: 'main' }, 2)).toBe(ids[2])
      expect(await audit.horizon({ tenant: 'main', before: ids[2] as string }, 2)).toBe(ids[0])
      expect(await audit.horizon({ tenant: 'main' }, 9)).toBe(undefined)
      expect(await audit.horizon({ tenant: 'other' }, 1)).toBe(undefined)
    })

    story('an entry is written only if its change applies', async (store, clock) => {
      const instance = sampleInstance(clock.now())
      await store.accept(instance)
      const endedAt = clock.now() + 5
      const ending = { id: instance.id, from: statesBefore('complete'), to: 'complete' as const, endedAt }

      const ends = await Promise.all([
        store.advance({ ...ending, audit: USUAL }),
        store.advance({ ...ending, audit: { ...USUAL, outcome: 'canceled' } }),
      ])

      expect(ends.map(({ applied }) => applied)).toEqual([true, false])
      expect(await store.audit.list({ tenant: 'main', limit: 9 })).toEqual([entryFor(instance, endedAt, USUAL)])
    })

    story('an entry has the fields of the ending, before and after its call is removed', async (store, clock) => {
      const [before, id, after] = [sampleId(1), sampleId(2), sampleId(3)] as const
      const instance = sampleInstance(clock.now(), { id, keepUntil: clock.now(), expiresAt: clock.now() })
      const endedAt = clock.now() + 5
      const said: AuditEnding = {
        verdict: 'hold',
        rule: 'p.yaml#ü',
        approvalId: 'a1',
        backend: 'http',
        attempts: 3,
        outcome: 'timeout',
        code: 'X',
        about: { why: 'Asked "for" it.' },
      }
      await store.accept(instance)
      await store.advance({ id, from: statesBefore('error'), to: 'error', endedAt, audit: said })
      await store.audit.append(entryOf(before))
      await store.audit.append(entryOf(after))
      const all = [entryOf(after), entryFor(instance, endedAt, said), entryOf(before)]
      const list = (query: Partial<AuditQuery> = {}) => store.audit.list({ tenant: 'main', limit: 9, ...query })

      for (const purged of [[], [id]]) {
        await expireNow(store, purged)
        expect(await list()).toEqual(all)
        expect(await list({ limit: 2 })).toEqual(all.slice(0, 2))
        expect(await list({ before: after, limit: 1 })).toEqual([all[1]])
        expect(await list({ owner: instance.owner, operation: instance.operation })).toEqual(all)
        expect(await list({ owner: 'none|bob' })).toEqual([])
        expect(await list({ operation: 'v1:reports.*' })).toEqual(all)
        expect(await list({ operation: 'v1:other@1.0.0' })).toEqual([])
        expect(await list({ tenant: 'other' })).toEqual([])
      }
    })

    const sizes = { small: { month: '2026-01' }, large: { notes: 'x'.repeat(10_000) } }
    for (const [size, args] of Object.entries(sizes)) {
      story(`an entry names the ${size} arguments of its call by their hash`, async (store, clock) => {
        const { fingerprint: _none, ...instance } = sampleInstance(clock.now(), { args: { ...args } })
        const ending = { from: statesBefore('complete'), to: 'complete' as const, endedAt: 1, audit: USUAL }
        await store.accept(instance)
        await store.advance({ id: instance.id, ...ending })
        const asked = `["v1:reports.generate",${JSON.stringify(args)},[]]`
        const fingerprint = createHash('sha256').update(asked).digest('hex')

        // Before and after the call is purged.
        for (const purged of [[], [instance.id]]) {
          await expireNow(store, purged)
          expect(await store.audit.list({ tenant: 'main', limit: 9 })).toMatchObject([{ id: instance.id, fingerprint }])
        }
      })
    }

    story('an entry keeps the request id that its call gave up for another call', async (store, clock) => {
      const [id, next] = [sampleId(1), sampleId(2)]
      const instance = sampleInstance(clock.now(), { id, requestId: 'r1' })
      const ending = { from: statesBefore('error'), to: 'error' as const, endedAt: clock.now() }
      await store.accept(instance)
      await store.advance({ id, ...ending, audit: { ...USUAL, outcome: 'requirements-missing' } })

      await store.accept(sampleInstance(clock.now(), { id: next, requestId: 'r1' }), { over: id })
      const kept = await store.audit.list({ tenant: 'main', limit: 9 })
      await expireNow(store, [id])

      expect(kept).toMatchObject([{ id, requestId: 'r1', outcome: 'requirements-missing' }])
      expect(await store.audit.list({ tenant: 'main', limit: 9 })).toEqual(kept)
    })

    story('entries outlive their calls, and old entries are purged', async (store, clock) => {
      const { id } = sampleInstance(clock.now())
      await store.accept(sampleInstance(clock.now(), { id, state: 'complete', keepUntil: clock.now() }))
      for (const endedAt of [10, 20, 30, 40]) await store.audit.append(entryOf(`${id}-${endedAt}`, { endedAt }))
      await expireNow(store, [id])
      const left = async () => (await store.audit.list({ tenant: 'main', limit: 9 })).map(({ endedAt }) => endedAt)

      expect(await left()).toEqual([40, 30, 20, 10])
      expect([await store.audit.purge(40, 2), await left()]).toEqual([2, [40, 30]])
      expect([await store.audit.purge(40, 2), await left()]).toEqual([1, [40]])
      expect(await store.audit.purge(40, 2)).toBe(0)
    })
  })
}
