/** An operator of another tenant, and an operator who is not the caller: both get what they would get if it did not exist. */
import { expect, test } from 'vitest'
import { ask, WITH_TASKS } from '../mcp.ts'
import { openWorks, type Works } from './operators.ts'

/** Written like an id of a call, and none. */
const NONE = '01a1ec27-0000-7000-8000-000000000000'

/** A shop in which each kind of thing exists: a dead letter, an open call, an approval, an export. */
async function busyShop() {
  const rule = { id: 'second-person', effect: 'approve' as const, what: { operation: 'v1:shop.refuse' } }
  const works = await openWorks({
    policy: { default: 'allow', rules: [rule] },
    mcp: { administration: true },
  })
  const theirs = { sessionId: 'session-of-ada', idempotencyKey: 'key-of-ada' }
  await works.make('ada', 'v1:shop.pay', 1)
  const { body: open } = await works.as('ada', 'v1:shop.stay', { n: 4711 }, theirs)
  await works.as('ada', 'v1:shop.refuse')
  const { body: exported } = await works.as('reader', 'v1:callplane.exports.create', { what: 'calls', format: 'csv' })
  await works.endedOf('reader', exported.requestId)
  const { approvals } = await works.result<{ approvals: { id: string }[] }>(
    'operator',
    'v1:callplane.approvals.list',
    {},
  )
  const { entries } = await works.result<{ entries: { id: string }[] }>('reader', 'v1:callplane.audit.list', {})
  const { next } = await works.result<{ next: string }>('reader', 'v1:callplane.changes.wait', { waitMs: 0 })
  const [dead = ''] = await works.ids('main', { operation: 'v1:shop.pay' })
  const [stays = ''] = await works.ids('main', { operation: 'v1:shop.stay' })
  const ids = { dead, stays, approval: approvals[0]?.id ?? '', audit: entries[0]?.id ?? '', changes: next }
  for (const id of Object.values(ids)) expect(id).not.toBe('')
  return { works, ids, open: open.requestId, exported: exported.requestId }
}

/** The end of a call, without what differs from call to call. */
async function seen({ as, endedOf }: Works, who: 'stranger' | 'replayer', op: string, args: object, id: string) {
  const first = (await as(who, `v1:callplane.${op}`, args)).body
  const {
    requestId: _,
    expiresAt: _at,
    ...rest
  } = first.result || first.error ? first : (await endedOf(who, first.requestId)).body
  return JSON.stringify(rest).replaceAll(id, 'ID')
}

test('an operator of another tenant learns and changes nothing by an id', async () => {
  const { works, ids } = await busyShop()
  const byId: [op: string, id: string, args: (id: string) => object][] = [
    ['calls.get', ids.stays, (id) => ({ id })],
    ['calls.payload', ids.stays, (id) => ({ id, part: 'args' })],
    ['calls.cancel', ids.stays, (id) => ({ ids: [id], why: 'x' })],
    ['calls.replay', ids.dead, (id) => ({ ids: [id], as: 'owner', why: 'x' })],
    ['calls.replay', ids.dead, (id) => ({ ids: [id], as: 'me', args: { n: 1 }, why: 'x' })],
    ['deadletters.dismiss', ids.dead, (id) => ({ ids: [id], why: 'x' })],
    ['approvals.get', ids.approval, (id) => ({ id })],
    ['approvals.decide', ids.approval, (id) => ({ id, verdict: 'approve' })],
    ['calls.list', ids.dead, (parent) => ({ parent })],
    ['calls.count', ids.dead, (parent) => ({ parent, by: 'owner' })],
  ]

  for (const [op, id, args] of byId) {
    expect(await seen(works, 'stranger', op, args(id), id), op).toBe(
      await seen(works, 'stranger', op, args(NONE), NONE),
    )
  }

  expect(await works.stored(ids.stays)).toMatchObject({ state: 'pending' })
  expect((await works.dead()).calls.map(({ id }) => id)).toEqual([ids.dead])
  expect(await works.stored(ids.approval)).toMatchObject({ state: 'accepted' })
  expect(works.runs).toHaveLength(1)
})

test('an operator of another tenant learns nothing by a filter, a count or a cursor', async () => {
  const { works, ids } = await busyShop()
  const filters = [
    ...[{}, { owner: 'callplane|ada' }, { operation: 'v1:shop.*' }, { code: 'BANK_AWAY' }, { text: '4711' }],
    ...[{ sessionId: 'session-of-ada' }, { key: 'key-of-ada' }, { state: ['pending'] }, { held: true }],
  ]
  const shop = { operation: 'v1:shop.*' }
  const tries: [op: string, args: object][] = [
    ...filters.flatMap((filter): typeof tries => [
      ['calls.list', { ...shop, ...filter }],
      ['calls.count', { ...shop, ...filter, by: 'owner' }],
      ['deadletters.list', filter],
      // A number that is wrong is answered with the right one.
      ['calls.cancel', { filter: { ...shop, ...filter }, expected: 99, why: 'x' }],
      ['calls.replay', { filter: { ...shop, ...filter }, expected: 99, as: 'me', why: 'x' }],
      ['deadletters.dismiss', { filter: { ...shop, ...filter }, expected: 99, why: 'x' }],
      ['changes.wait', { filter: { ...shop, ...filter }, waitMs: 0, after: ids.changes }],
    ]),
    ['calls.list', { ...shop, after: 'ffffffff-ffff-7fff-bfff-ffffffffffff' }],
    ['deadletters.list', { after: ids.stays }],
    ['audit.list', { ...shop, before: `${ids.audit}~` }],
    ['audit.list', { owner: 'callplane|ada' }],
    ['approvals.list', { all: true }],
    ['approvals.list', { after: ids.approval }],
  ]

  for (const [op, args] of tries) {
    const text = await seen(works, 'stranger', op, args, NONE)
    const about = JSON.stringify([op, args])
    expect(text, about).not.toMatch(/callplane\|ada|v1:shop|BANK_AWAY|4711/)
    for (const id of [ids.dead, ids.stays, ids.approval, ids.audit]) expect(text, about).not.toContain(id)
    const found = op.includes('count') ? /"total":0,/ : /"(?:calls|entries|approvals|events)":\[\]|"found":0[,}]/
    expect(text, about).toMatch(found)
  }
  expect(await works.stored(ids.stays)).toMatchObject({ state: 'pending' })
})

test('who may see all calls, but did not make one, cannot read or end it by its request id', async () => {
  const { works, open, exported } = await busyShop()
  const [call = ''] = await works.ids('main', { operation: 'v1:callplane.exports.create' })
  const addresses = (id: string): [path: string, init?: RequestInit][] => [
    [`/ops/${id}`],
    [`/ops/${id}`, { method: 'DELETE' }],
    [`/ops/${id}/chunks`],
    [`/ops/${id}/events`],
  ]
  const tasks = (taskId: string): [method: string, params: object][] => [
    ['tasks/get', { taskId }],
    ['tasks/cancel', { taskId }],
    ['resources/read', { uri: `callplane://results/${taskId}` }],
  ]
  for (const who of ['operator', 'auditor', 'replayer', 'stranger'] as const) {
    const { headers } = works.people[who]
    const answers = async (id: string) => {
      const texts: string[] = []
      for (const [path, init] of addresses(id)) {
        const response = await works.request(path, { ...init, headers })
        texts.push(`${response.status} ${await response.text()}`)
      }
      for (const [method, params] of tasks(id)) {
        const { status, json } = await ask(works, method, params, { headers, capabilities: WITH_TASKS })
        texts.push(`${status} ${JSON.stringify(json)}`)
      }
      return texts.map((text) => text.replaceAll(id, 'ID'))
    }
    const none = await answers(NONE)
    for (const id of [open, exported, call]) expect([who, await answers(id)]).toEqual([who, none])
  }
  expect((await works.endedOf('reader', exported)).body.state).toBe('complete')
  expect((await works.poll(open, works.people.ada.headers)).body.state).toBe('pending')
})
