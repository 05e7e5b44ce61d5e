/** Operators hear of changes while they wait, and only of those of their tenant. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { readWithTicket } from '../../streams/sse.ts'
import { startPair } from '../../workers/pair.ts'
import { openWorks } from './operators.ts'

const WAIT = 'v1:callplane.changes.wait'

interface Changes {
  events: { kind: string; id: string; operation: string; state: string; at: string }[]
  next: string
  reset?: true
}

type Works = Awaited<ReturnType<typeof openWorks>>

const wait = (works: Works, args: object, who: 'reader' | 'stranger' = 'reader') =>
  works.result<Changes>(who, WAIT, args)

test('the changes of calls are told, once, in order', async () => {
  const works = await openWorks()
  const { next } = await wait(works, { waitMs: 0 })
  const waiting = wait(works, { after: next, filter: { operation: 'v1:shop.*', state: ['error'] } })
  await works.make('ada', 'v1:shop.refuse', 1)

  const heard = await waiting
  const all = await wait(works, { after: next, waitMs: 0, filter: { operation: 'v1:shop.*' } })
  const [id] = await works.ids()

  const change = { kind: 'call', id, operation: 'v1:shop.refuse@1.0.0', at: expect.stringMatching(/Z$/) }
  expect(heard.events).toEqual([{ ...change, state: 'error' }])
  expect(all.events.map(({ state }) => state).at(-1)).toBe('error')
  expect(await wait(works, { after: heard.next, waitMs: 0, filter: { operation: 'v1:shop.*' } })).toMatchObject({
    events: [],
  })
})

test('of another tenant, and of other calls than those of the filter, nothing is told', async () => {
  const works = await openWorks()
  const { next } = await wait(works, { waitMs: 0 })
  const { next: theirs } = await wait(works, { waitMs: 0 }, 'stranger')
  await works.make('ada', 'v1:shop.refuse', 2)

  const foreign = await wait(works, { after: theirs, waitMs: 0 }, 'stranger')
  const others = await wait(works, { after: next, waitMs: 0, filter: { owner: 'callplane|bob' } })
  const approvals = await wait(works, { after: next, waitMs: 0, kinds: ['approval'] })

  for (const { events } of [foreign, others, approvals]) expect(events).toEqual([])
})

test('a new approval and its decision are told', async () => {
  const policy = {
    default: 'allow' as const,
    rules: [{ id: 'all', effect: 'approve' as const, what: { operation: 'v1:shop.*' } }],
  }
  const works = await openWorks({ policy })
  const { next } = await wait(works, { waitMs: 0 })
  const waiting = wait(works, { after: next, kinds: ['approval'] })
  await works.as('ada', 'v1:shop.refuse')
  const { events, next: later } = await waiting
  const decided = wait(works, { after: later, kinds: ['approval'] })
  await works.as('operator', 'v1:callplane.approvals.decide', { id: events[0]?.id, verdict: 'deny' })

  expect(events).toMatchObject([{ kind: 'approval', state: 'pending', operation: 'v1:shop.refuse@1.0.0' }])
  expect((await decided).events).toMatchObject([{ kind: 'approval', state: 'denied', id: events[0]?.id }])
})

test('a thousand waiting pages take no slot, and hear of the same change', { timeout: 60_000 }, async () => {
  const works = await openWorks({ limits: { runningCalls: 4 } })
  const { next } = await wait(works, { waitMs: 0 })
  const pages = Array.from({ length: 1_000 }, () => wait(works, { after: next, filter: { owner: 'callplane|ada' } }))
  await works.make('ada', 'v1:shop.refuse', 1)

  for (const { events } of await Promise.all(pages)) expect(events.length).toBeGreaterThan(0)
})

test('the stream has the same changes as frames', async () => {
  const works = await openWorks()
  const answered = await works.as('reader', 'v1:callplane.changes.watch', { filter: { owner: 'callplane|ada' } })
  const reader = await readWithTicket(answered)
  // The handler runs once its reader is there. Another request, which listens too, shows that it does.
  const { next } = await wait(works, { waitMs: 0 })
  const waiting = wait(works, { after: next, filter: { owner: 'callplane|ada', state: ['error'] } })
  await works.make('ada', 'v1:shop.refuse', 1)
  await waiting

  const frames: unknown[] = []
  do frames.push((await reader.next())?.data)
  while (!JSON.stringify(frames.at(-1)).includes('"error"'))
  reader.leave()

  expect(frames.at(-1)).toMatchObject({ kind: 'call', operation: 'v1:shop.refuse@1.0.0', state: 'error' })
})

test('the stream says when changes may have been missed, and goes on', async () => {
  const works = await openWorks()
  const filter = { owner: 'callplane|ada', state: ['error'] }
  const args = { after: 'too.1.old', kinds: ['call'], filter }
  const reader = await readWithTicket(await works.as('reader', 'v1:callplane.changes.watch', args))

  const reset = (await reader.next())?.data as { id: string }
  await works.make('ada', 'v1:shop.refuse', 1)
  const next = await reader.next()
  reader.leave()

  expect(reset).toMatchObject({ kind: 'reset', operation: '', state: 'reset', at: expect.stringMatching(/Z$/) })
  expect(next?.data).toMatchObject({ kind: 'call', operation: 'v1:shop.refuse@1.0.0', state: 'error' })
  // The id of a reset is a cursor.
  expect(await wait(works, { after: reset.id, waitMs: 0, filter })).toMatchObject({ events: [{ state: 'error' }] })
})

test('the workers of one server tell each other', { timeout: 60_000 }, async () => {
  const refuse = operation('v1:shop.refuse', { model: 'async', run: (_, ctx) => ctx.fail('NO', 'Not today.') })
  const { token, hash } = createToken()
  const entry = { hash, kind: 'bearer' as const, subject: 'one', scopes: ['callplane:admin'] }
  const [first, second] = await startPair({ operations: [refuse], auth: { tokens: [entry] } })
  const headers = { Authorization: `Bearer ${token}` }
  const ask = async (args: object) => (await second.call(WAIT, args, {}, { headers })).body.result as unknown as Changes
  const { next } = await ask({ waitMs: 0 })

  const { body } = await first.call('v1:shop.refuse', {}, {}, { headers })
  const filter = { operation: 'v1:shop.*', state: ['error'] }
  let heard = await ask({ after: next, filter })
  while (heard.events.length === 0) heard = await ask({ after: heard.next, filter })

  expect(body.error).toBeUndefined()
  expect(heard.events).toMatchObject([{ state: 'error' }])
})

test('a cursor that is too old, or none of ours, is answered at once: look again', async () => {
  const works = await openWorks()
  await wait(works, { waitMs: 0 })

  for (const after of ['nonsense', 'a.b.c', 'other.1.1', 'other.1.NaN']) {
    expect(await wait(works, { after })).toMatchObject({ events: [], reset: true })
  }
})

test('a page that waits does not hold up the end of the server', async () => {
  const works = await openWorks()
  const { next } = await wait(works, { waitMs: 0 })
  const waiting = wait(works, { after: next, filter: { owner: 'nobody' } })
  // The request has arrived once another one, sent later, is answered.
  await wait(works, { waitMs: 0 })

  await works.close(10_000)

  expect(await waiting).toMatchObject({ events: [] })
})

test('the filter by text needs its scope, and a caller without scopes hears nothing', async () => {
  const works = await openWorks()

  const text = await works.as('reader', WAIT, { filter: { text: 'x' }, waitMs: 0 })
  const none = await works.as('ada', WAIT, { waitMs: 0 })
  const long = await works.as('reader', WAIT, { waitMs: 25_001 })

  expect(text.body.error?.code).toBe('INSUFFICIENT_SCOPE')
  expect(none.body.error?.code).toBe('UNKNOWN_OP')
  expect(long.body.error?.code).toBe('VALIDATION_ERROR')
})
