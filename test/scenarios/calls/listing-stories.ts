/** Operators list, count and read the calls of all callers in their tenant, and of no other tenant. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import type { NewPlace } from '../places.ts'
import { createGate } from '../server.ts'
import { openOffice } from './office.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const add = operation('v1:notes.add', { model: 'async', run: ({ note }) => ({ noted: note ?? null }) })
const fail = operation('v1:notes.fail', {
  model: 'async',
  retry: { attempts: 1 },
  run: (_, ctx) => ctx.fail('FULL', 'The book is full.'),
})

export function listingStories(newPlace: NewPlace): void {
  test('a reader sees the calls of every caller in the tenant, without arguments and results', async () => {
    const office = await openOffice({ ...newPlace(), operations: [add, fail] })
    await office.done('ada', 'v1:notes.add', 'r1', { note: 'milk' })
    await office.done('bob', 'v1:notes.fail', 'r2', {}, { sessionId: 's1' })
    await office.done('eve', 'v1:notes.add', 'r3')

    const { calls, complete, next } = await office.list()

    expect(calls).toEqual([
      {
        id: expect.stringMatching(UUID),
        requestId: 'r2',
        operation: 'v1:notes.fail',
        version: '1.0.0',
        owner: 'callplane|bob',
        state: 'error',
        code: 'FULL',
        kind: 'domain',
        attempts: 1,
        createdAt: expect.any(String),
        endedAt: expect.any(String),
        durationMs: expect.any(Number),
        expiresAt: expect.any(String),
      },
      expect.objectContaining({ requestId: 'r1', owner: 'callplane|ada', state: 'complete' }),
    ])
    expect([complete, next]).toEqual([true, undefined])
    expect(JSON.stringify(calls)).not.toContain('milk')
    expect((await office.list({}, 'stranger')).calls.map(({ requestId }) => requestId)).toEqual(['r3'])
  })

  test('pages follow each other by the ids, whatever comes meanwhile', async () => {
    const office = await openOffice({ ...newPlace(), operations: [add] })
    for (const n of [1, 2, 3, 4, 5]) await office.done('ada', 'v1:notes.add', `r${n}`)

    const first = await office.list({ limit: 2 })
    await office.done('ada', 'v1:notes.add', 'r6')
    const second = await office.list({ limit: 2, after: first.next })
    const third = await office.list({ limit: 2, after: second.next })

    const pages = [first, second, third].map(({ calls }) => calls.map(({ requestId }) => requestId))
    expect(pages).toEqual([['r5', 'r4'], ['r3', 'r2'], ['r1']])
    expect(third.next).toBeUndefined()
  })

  test('filters and counts find the same calls', async () => {
    const office = await openOffice({ ...newPlace(), operations: [add, fail] })
    await office.done('ada', 'v1:notes.add', 'r1', { note: 'milk' }, { idempotencyKey: 'k1' })
    await office.done('bob', 'v1:notes.fail', 'r2', {}, { sessionId: 's1' })
    await office.done('bob', 'v1:notes.add', 'r3')
    const expected: [object, string[]][] = [
      [{ state: ['error'] }, ['r2']],
      [{ operation: 'v1:notes.*' }, ['r3', 'r2', 'r1']],
      [{ operation: 'v1:notes.add' }, ['r3', 'r1']],
      [{ operation: 'v1:notes.a%' }, []],
      [{ owner: 'callplane|bob' }, ['r3', 'r2']],
      [{ owner: 'callplane|eve' }, []],
      [{ code: 'FULL' }, ['r2']],
      [{ sessionId: 's1' }, ['r2']],
      [{ key: 'k1' }, ['r1']],
      [{ held: true }, []],
      [{ minAttempts: 2 }, []],
      [{ minMs: 3_600_000 }, []],
      [{ since: '2000-01-01T00:00:00Z', until: '2001-01-01T00:00:00Z' }, []],
      [{ since: '2001-01-01T00:00:00Z' }, ['r3', 'r2', 'r1']],
    ]
    for (const [filter, found] of expected) {
      expect({ filter, found: (await office.list(filter)).calls.map(({ requestId }) => requestId) }).toEqual({
        filter,
        found,
      })
      const { total, capped } = await office.read<{ total: number; capped: boolean }>('reader', 'calls.count', filter)
      expect({ filter, total, capped }).toEqual({ filter, total: found.length, capped: false })
    }
    expect(await office.read('reader', 'calls.count', { by: 'operation' })).toMatchObject({
      groups: [
        { value: 'v1:notes.add', count: 2 },
        { value: 'v1:notes.fail', count: 1 },
      ],
    })
  })

  test('a call of another tenant is as absent as one that never was', async () => {
    const office = await openOffice({ ...newPlace(), operations: [add] })
    await office.done('ada', 'v1:notes.add', 'r1', { note: 'milk' })
    const id = await office.idOf('r1')
    const absent = '0198c5a0-0000-7000-8000-000000000000'

    for (const op of ['get', 'payload']) {
      const args = (of: string) => ({ id: of, ...(op === 'payload' && { part: 'args' }) })
      const theirs = await office.as('stranger', `v1:callplane.calls.${op}`, args(id))
      const none = await office.as('stranger', `v1:callplane.calls.${op}`, args(absent))
      expect(theirs.body.error?.code).toBe('NOT_FOUND')
      expect(JSON.stringify(theirs.body.error).replaceAll(id, '')).toBe(
        JSON.stringify(none.body.error).replaceAll(absent, ''),
      )
    }
    for (const filter of [{ parent: id }, { text: 'milk' }, { owner: 'callplane|ada' }]) {
      expect((await office.list(filter, 'stranger')).calls).toEqual([])
    }
    const odd = await office.as('reader', 'v1:callplane.calls.get', { id: "'%_" })
    expect(odd.body.error?.code).toBe('NOT_FOUND')
  })

  test('a call shows its children, and a child its parent', async () => {
    const child = operation('v1:parts.child', { model: 'async', run: () => 'small' })
    const parent = operation('v1:parts.parent', {
      model: 'async',
      run: async (_, ctx) => [await ctx.call('v1:parts.child', {}), await ctx.call('v1:parts.child', {})],
    })
    const office = await openOffice({ ...newPlace(), operations: [parent, child] })
    await office.done('ada', 'v1:parts.parent', 'r1')
    const id = await office.idOf('r1')

    const details = await office.read<{ children: { operation: string; parent: string }[] }>('reader', 'calls.get', {
      id,
    })

    expect(details.children.map((each) => [each.operation, each.parent])).toEqual([
      ['v1:parts.child', id],
      ['v1:parts.child', id],
    ])
    expect((await office.list({ parent: id })).calls).toHaveLength(2)
  })

  test('a call that runs is listed as it is', async () => {
    const gate = createGate<string>()
    const slow = operation('v1:slow', {
      model: 'async',
      run: (_, ctx) => {
        ctx.progress(0.5, 'half')
        return gate.pass()
      },
    })
    const office = await openOffice({ ...newPlace(), operations: [slow] })
    await office.as('ada', 'v1:slow', {}, { requestId: 'r1' })
    await gate.began
    const id = await office.idOf('r1')

    const running = await office.read('reader', 'calls.get', { id })
    gate.open('done')
    await office.done('ada', 'v1:slow', 'r1')

    expect(running).toMatchObject({
      call: { state: 'pending', attempts: 1 },
      attempts: [{ attempt: 1, outcome: 'running', startedAt: expect.any(String) }],
    })
    expect(await office.read('reader', 'calls.get', { id })).toMatchObject({
      call: { state: 'complete' },
      attempts: [{ attempt: 1, outcome: 'complete', startedAt: expect.any(String), endedAt: expect.any(String) }],
    })
  })
}
