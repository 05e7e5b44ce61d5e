/** People with one scope try to see and to change more than it is for. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { ask, WITH_TASKS } from '../mcp.ts'
import { type Site, startSite } from '../server.ts'

const CANCEL = 'v1:callplane.calls.cancel'
const DISMISS = 'v1:callplane.deadletters.dismiss'
const REPLAY = 'v1:callplane.calls.replay'

const SCOPES = {
  owner: ['*'],
  reader: ['callplane:read'],
  canceler: ['callplane:operate'],
  replayer: ['callplane:replay'],
  searcher: ['callplane:read', 'callplane:operate', 'callplane:payloads'],
  revealer: ['callplane:replay', 'callplane:payloads'],
  stranger: ['callplane:admin', '*'],
} as const

type Name = keyof typeof SCOPES

async function openSite() {
  const people = Object.entries(SCOPES).map(([subject, scopes]) => {
    const { token, hash } = createToken()
    const tenant = subject === 'stranger' ? 'elsewhere' : 'main'
    return { subject, token, entry: { hash, kind: 'bearer' as const, subject, scopes, tenant } }
  })
  const echo = operation('v1:notes.echo', { model: 'async', ttlSeconds: 600, run: (args) => args })
  const stay = operation('v1:notes.stay', {
    model: 'async',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const question = {
    kind: 'form' as const,
    message: 'Your PIN?',
    schema: { type: 'object', properties: { pin: { type: 'string' } } },
  }
  const inquire = operation('v1:notes.ask', {
    model: 'async',
    ttlSeconds: 600,
    requires: { answers: { pin: question } },
    run: async (_, ctx) => {
      const { pin } = await ctx.ask({ pin: question })
      return pin.action === 'accept' ? pin.content : null
    },
  })
  const site = await startSite({
    operations: [echo, stay, inquire],
    auth: { tokens: people.map(({ entry }) => entry) },
  })
  const headersOf = (who: Name) => ({
    Authorization: `Bearer ${people.find(({ subject }) => subject === who)?.token}`,
  })
  const as = async (who: Name, op: string, args: object = {}) => {
    const { body } = await site.call(op, args, { idempotencyKey: crypto.randomUUID() }, { headers: headersOf(who) })
    return body
  }
  /** The end of an async call. */
  const ended = async (who: Name, requestId: string) => (await site.ended(requestId, headersOf(who))).body
  const idOf = async (operation: string, who: Name = 'reader') => {
    const { result } = await as(who, 'v1:callplane.calls.list', { operation })
    return (result as { calls: { id: string }[] }).calls[0]?.id as string
  }
  return { site: site as Site, as, ended, idOf, headersOf }
}

test('who may only cancel learns neither the number nor the ids of calls by a filter', async () => {
  const { as, idOf } = await openSite()
  await as('owner', 'v1:notes.stay', { text: 'secret' })

  for (const op of [CANCEL, DISMISS]) {
    for (const filter of [{}, { owner: 'callplane|owner' }, { operation: 'v1:notes.*' }, { text: 'secret' }]) {
      const { error } = await as('canceler', op, { filter, expected: 1, why: 'x' })
      expect(error?.code).toBe('INSUFFICIENT_SCOPE')
      expect(JSON.stringify(error)).not.toMatch(/matches/)
    }
  }

  const { result } = await as('reader', 'v1:callplane.calls.get', { id: await idOf('v1:notes.stay') })
  expect(result).toMatchObject({ call: { state: 'pending' } })
})

test('who may only replay learns nothing by a filter', async () => {
  const { as, ended } = await openSite()
  const made = await as('owner', 'v1:notes.echo', { text: 'secret' })
  await ended('owner', made.requestId)

  const started = await as('replayer', REPLAY, {
    filter: { owner: 'callplane|owner' },
    expected: 9,
    as: 'owner',
    why: 'x',
  })
  const { error } = await ended('replayer', started.requestId)

  expect(error?.code).toBe('INSUFFICIENT_SCOPE')
})

test('who may replay does not read the arguments of another caller in the result of a replay', async () => {
  const { as, ended, idOf } = await openSite()
  const made = await as('owner', 'v1:notes.echo', { text: 'secret' })
  await ended('owner', made.requestId)
  const id = await idOf('v1:notes.echo')
  const replay = async (who: Name, more: object) => {
    const { requestId } = await as(who, REPLAY, { ids: [id], why: 'x', ...more })
    return (await ended(who, requestId)).result as { started: { requestId: string }[]; refused: { code: string }[] }
  }

  const refused = await replay('replayer', { as: 'me' })
  const edited = await replay('replayer', { as: 'me', args: { text: 'mine' } })
  const forOwner = await replay('replayer', { as: 'owner' })
  const allowed = await replay('revealer', { as: 'me' })

  expect(refused).toMatchObject({ started: [], refused: [{ code: 'INSUFFICIENT_SCOPE' }] })
  expect((await ended('replayer', edited.started[0]?.requestId ?? '')).result).toEqual({ text: 'mine' })
  expect(forOwner.started).toHaveLength(1)
  expect((await ended('revealer', allowed.started[0]?.requestId ?? '')).result).toEqual({ text: 'secret' })
})

test('who may replay does not read the replies of another caller to questions, not even with arguments of their own', async () => {
  const { site, as, ended, idOf, headersOf } = await openSite()
  const asking = { headers: headersOf('owner'), capabilities: { ...WITH_TASKS, elicitation: {} } }
  const reply = { pin: { action: 'accept', content: { pin: 'secret' } } }
  const call = { name: 'notes_ask', arguments: {}, inputResponses: reply }
  const { taskId } = (await ask(site, 'tools/call', call, asking)).json.result
  await ended('owner', taskId)
  const again = { ids: [await idOf('v1:notes.ask')], as: 'me', args: {}, why: 'x' }
  const replay = async (who: Name) => {
    const { requestId } = await as(who, REPLAY, again)
    return (await ended(who, requestId)).result as { started: { requestId: string }[]; refused: { code: string }[] }
  }

  const refused = await replay('replayer')
  const allowed = await replay('revealer')

  expect(refused).toMatchObject({ started: [], refused: [{ code: 'INSUFFICIENT_SCOPE' }] })
  expect((await ended('revealer', allowed.started[0]?.requestId ?? '')).result).toEqual({ pin: 'secret' })
})

test('a search by text is in the audit trail, whatever the operation that searches', async () => {
  const { as } = await openSite()
  await as('owner', 'v1:notes.stay', { text: 'secret' })

  for (const op of [CANCEL, DISMISS]) {
    const { error } = await as('searcher', op, { filter: { text: 'secret' }, expected: 99, why: 'x' })
    expect(error?.code).toBe('SELECTION_CHANGED')
    const { result } = await as('reader', 'v1:callplane.audit.list', { operation: op })
    const { entries } = result as { entries: { about?: object; owner: string }[] }
    expect(entries.filter(({ about }) => about && 'searched' in about)).toMatchObject([
      { owner: 'callplane|searcher', about: { searched: true } },
    ])
  }
})

test('the id of a call of another tenant is answered like one that never existed', async () => {
  const { as, idOf } = await openSite()
  await as('stranger', 'v1:notes.stay', { text: 'theirs' })
  const id = await idOf('v1:notes.stay', 'stranger')
  const none = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  const tries: [Name, string, (id: string) => object][] = [
    ['reader', 'v1:callplane.calls.get', (of) => ({ id: of })],
    ['reader', 'v1:callplane.calls.list', (parent) => ({ parent })],
    ['reader', 'v1:callplane.calls.count', (parent) => ({ parent })],
    ['searcher', 'v1:callplane.calls.payload', (of) => ({ id: of, part: 'args' })],
    ['canceler', CANCEL, (of) => ({ ids: [of], why: 'x' })],
    ['canceler', DISMISS, (of) => ({ ids: [of], why: 'x' })],
  ]

  expect(id).toBeDefined()
  for (const [who, op, args] of tries) {
    const seen = async (of: string) => {
      const { requestId: _, ...rest } = await as(who, op, args(of))
      return JSON.stringify(rest).replaceAll(of, 'ID')
    }
    expect(await seen(id), op).toBe(await seen(none))
  }
  const { result } = await as('stranger', 'v1:callplane.calls.get', { id })
  expect(result).toMatchObject({ call: { state: 'pending' } })
})
