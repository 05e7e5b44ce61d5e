/** The audit trail is searched by time, verdict, outcome, code, rule and request id. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { openDesk } from '../approving.ts'
import { createStepClock } from '../server.ts'

const LIST = 'v1:callplane.audit.list'

async function openNotes() {
  const clock = createStepClock(Date.parse('2026-01-01T00:00:00Z'))
  const keep = operation('v1:notes.keep', { run: () => 'kept' })
  const fail = operation('v1:notes.fail', {
    sideEffecting: true,
    idempotencyRequired: false,
    run: (_, ctx) => ctx.fail('FULL', 'The book is full.'),
  })
  const erase = operation('v1:notes.erase', { run: () => 'erased' })
  const policy = {
    default: 'allow' as const,
    rules: [{ id: 'no-erasing', effect: 'deny' as const, what: { operation: 'v1:notes.erase' } }],
  }
  const desk = await openDesk({ clock, policy, operations: [keep, fail, erase] })
  for (const [name, requestId] of [
    ['keep', 'r1'],
    ['fail', 'r2'],
    ['erase', 'r3'],
  ] as const) {
    await desk.as('agent', `v1:notes.${name}`, {}, { requestId })
    clock.advance(60_000)
  }
  return {
    desk,
    async found(filter: object): Promise<string[]> {
      const { body } = await desk.as('root', LIST, { owner: 'callplane|agent', ...filter })
      expect(body.error).toBeUndefined()
      const { entries, complete } = body.result as unknown as { entries: { requestId: string }[]; complete: boolean }
      expect(complete).toBe(true)
      return entries.map(({ requestId }) => requestId)
    },
  }
}

test('by the values of its entries', async () => {
  const { found } = await openNotes()

  expect(await found({})).toEqual(['r3', 'r2', 'r1'])
  expect(await found({ verdict: 'deny' })).toEqual(['r3'])
  expect(await found({ outcome: 'complete' })).toEqual(['r1'])
  expect(await found({ code: 'FULL' })).toEqual(['r2'])
  expect(await found({ rule: 'policy#no-erasing' })).toEqual(['r3'])
  expect(await found({ requestId: 'r2' })).toEqual(['r2'])
  expect(await found({ outcome: 'complete', code: 'FULL' })).toEqual([])
  expect(await found({ operation: 'v1:notes.fail' })).toEqual(['r2'])
  expect(await found({ operation: 'v1:notes.fail@1.0.0' })).toEqual(['r2'])
  expect(await found({ operation: 'v1:notes.*', verdict: 'allow' })).toEqual(['r2', 'r1'])
})

test('by time', async () => {
  const { found } = await openNotes()

  expect(await found({ since: '2026-01-01T00:01:00Z' })).toEqual(['r3', 'r2'])
  expect(await found({ until: '2026-01-01T00:01:00Z' })).toEqual(['r1'])
  // A leap second.
  expect(await found({ since: '2016-12-31T23:59:60Z' })).toEqual(['r3', 'r2', 'r1'])
  expect(await found({ since: '2026-01-01T00:00:30Z', until: '2026-01-01T00:01:30Z' })).toEqual(['r2'])
})

test('a time that is none, and a filter without end, are refused', async () => {
  const { desk } = await openNotes()

  const time = await desk.as('root', LIST, { since: 'yesterday' })
  const long = await desk.as('root', LIST, { rule: 'x'.repeat(10_000) })
  const many = await desk.as('root', LIST, { limit: 201 })

  for (const { body } of [time, long, many]) expect(body.error?.code).toBe('VALIDATION_ERROR')
})
