/** Call ids are UUIDs of version 7, ordered by time, and contain the slot of their owner. */
import { hash } from 'node:crypto'
import { operation } from 'callplane'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SLOTS, slotDigits, slotOf, slotOfId, withSlot } from '../../src/core/call/slots.ts'
import { createRedactor } from '../../src/security/redaction/redaction.ts'
import { createEnvironment } from '../../src/server/build/environment.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { ADA, Node, OWNER, openCluster } from './node.ts'

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const digest = (text: string) => hash('sha256', text, 'hex')

function idsAt(now: () => number) {
  const clock = { now, monotonicMs: now, schedule: () => () => {} }
  return createEnvironment(createMemoryLog([]), { current: new Uint8Array(32) }, clock, createRedactor())
}

test('every id of an owner has the same slot, even if other owners come between', () => {
  const { newCallId } = idsAt(() => 1_700_000_000_000)
  const owners = fc.array(fc.tuple(fc.string(), fc.string()), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(owners, (list) => {
      for (const [tenant, owner] of [...list, ...list]) {
        const id = newCallId(tenant, owner)
        expect(id).toMatch(UUID7)
        expect(slotOfId(id)).toBe(slotOf(digest, tenant, owner))
      }
    }),
  )
})

test('the slot of an owner stays the same for ever', () => {
  const vectors = [
    ['main', 'none|ada', 1296],
    ['other', 'none|ada', 3417],
    ['', '', 27],
    ['main', 'https://login.example|ü😀', 3323],
  ] as const

  for (const [tenant, owner, slot] of vectors) expect(slotOf(digest, tenant, owner)).toBe(slot)
  expect(slotOfId('01890000-0000-7abc-8000-000000000000')).toBe(0xabc)
  for (const text of ['', 'abc', '01890000-0000-4abc-8000-000000000000']) expect(slotOfId(text)).toBe(undefined)
})

test('ids sort by the time of their creation, for all slots', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat({ max: 2 ** 40 }), { minLength: 2 }), fc.string(), (times, owner) => {
      let at = 0
      const { newCallId } = idsAt(() => times[at] as number)
      const made = times.map((time, index) => {
        at = index
        return { time, id: newCallId('main', `${owner}${index}`) }
      })
      const byId = made.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ time }) => time)
      expect(byId).toEqual(times.toSorted((a, b) => a - b))
    }),
  )
})

test('owners spread over the slots', () => {
  const { newCallId } = idsAt(() => 1)
  const owners = Array.from({ length: SLOTS }, (_, number) => slotOfId(newCallId('main', `issuer|${number}`)))
  // Of as many owners as slots, 63 % of the slots have one on average.
  expect(new Set(owners).size).toBeGreaterThan(SLOTS * 0.6)
})

test('ten thousand calls of one owner in one millisecond have different ids', () => {
  const { newCallId } = idsAt(() => 1)
  expect(new Set(Array.from({ length: 10_000 }, () => newCallId('main', 'a|b'))).size).toBe(10_000)
})

test('a slot can be put into an id that has another', () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), fc.string(), (id, owner) => {
      const digits = slotDigits(digest, 'main', owner)
      const other = withSlot(id, digits)
      expect(other).toMatch(UUID7)
      expect(slotOfId(other)).toBe(slotOf(digest, 'main', owner))
      expect(withSlot(other, id.slice(15, 18))).toBe(id)
    }),
  )
})

test('a recorded call has the slot of its caller', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [operation('v1:t.go', { model: 'async', run: () => 1 })] })
  await node.call('v1:t.go')
  const { id } = await cluster.find('r1')

  expect(slotOfId(id)).toBe(slotOf(digest, ADA.tenant, OWNER))
})
