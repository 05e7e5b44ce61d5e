/**
 * Callers with one scope, with none, without a credential and of another tenant attack the server over the carriers
 * besides HTTP/1.1, WebSocket and gRPC. The refusals are those of names and ids that do not exist.
 */
import { createToken, jsonSchema, operation } from 'callplane'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { RECORDS_TYPE } from '../../../src/wire/frames/records.ts'
import { Reader } from '../../carriers/webrtc/reader.ts'
import { guardUdp } from '../../carriers/webrtc/udp-guard.ts'
import { describeWith, type TestEngine } from '../../engines/engines.ts'
import { authOf, type Carrier, type Frames, openReached, type Reached, type Who } from './carriers/carrier.ts'
import { CARRIERS, CLOSED, WITH_FRAMES, WITHOUT_IDENTITY } from './carriers/index.ts'
import { http3 } from './carriers/quic.ts'
import { webrtcCarrier } from './carriers/webrtc.ts'
import { ALLOWED, createPeople, expectListed, foundOver, OPERATIONS, STRANGERS } from './scopes.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })
guardUdp()

const NO_ENGINE: TestEngine = { name: 'nothing', missing: [] }
/** Written like an id of a call, and none. */
const NONE = '01a1ec27-0000-7000-8000-000000000000'
const WATCH = 'v1:callplane.changes.watch'
const WHOAMI = 'v1:callplane.whoami'

const stay = operation('v1:shop.stay', {
  model: 'async',
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
})
const tick = operation('v1:shop.tick', {
  frame: jsonSchema<number>({ type: 'integer' }),
  async *run(_, { signal }) {
    yield 1
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  },
})
const pay = operation('v1:shop.pay', { model: 'async', run: () => ({ paid: true }) })

function person(subject: string, scopes: readonly string[], tenant = 'main') {
  const { token, hash } = createToken()
  const entry = { hash, kind: 'bearer' as const, subject, scopes, tenant }
  return { subject, tenant, scopes, token, entry }
}

/** Two tenants. In the other one, a caller with every scope has the name of a caller of the first. */
function createShop() {
  const people = {
    ada: person('ada', []),
    operator: person('operator', ['*', 'callplane:admin']),
    namesake: person('ada', ['*', 'callplane:admin'], 'elsewhere'),
  }
  const tokens = Object.values(people).map(({ entry }) => entry)
  return { people, options: { operations: [stay, tick, pay], auth: { tokens }, mcp: { administration: true } } }
}

interface Listed {
  calls: { id: string; requestId: string; endedAt?: string }[]
}

async function openShop(carrier: Carrier) {
  const { people, options } = createShop()
  const reached = await openReached(carrier, options)
  const { site } = reached
  /** What is true, even if the carrier does not show it. */
  const callsIn = async (tenant: string, name: string) => {
    const client = site.server.client({ subject: 'observer', scopes: ['callplane:admin'], tenant })
    const { calls } = (await client.call('v1:callplane.calls.list', { operation: name } as never)) as unknown as Listed
    return calls
  }
  return { ...reached, people, callsIn }
}

function each(carriers: Readonly<Record<string, Carrier>>, title: string, story: (carrier: Carrier) => Promise<void>) {
  for (const [name, carrier] of Object.entries(carriers)) {
    describeWith(carrier.engine ?? NO_ENGINE, name, () => test(title, () => story(carrier)))
  }
}

const engines: AsyncDisposable[] = []
beforeAll(async () => {
  const usable = Object.values(CARRIERS).filter(({ engine = NO_ENGINE }) => engine.missing.length === 0)
  for (const { start } of usable) if (start) engines.push(await start())
})
afterAll(() => Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]())))

each(CARRIERS, 'shows an operation of the server to the holders of its scope alone', async (carrier) => {
  const { people, auth } = createPeople()
  const options = { operations: OPERATIONS, auth, mcp: { administration: true } }
  const { site, ways, lists = [] } = await openReached(carrier, options)
  for (const [way, call] of Object.entries(ways)) {
    expect([way, ...(await foundOver(site, people, call))]).toEqual([way, ...ALLOWED])
  }
  for (const list of lists) await expectListed(site, people, list)
})

each(CLOSED, 'shows no operation of the server to anybody', async (carrier) => {
  const { people, auth } = createPeople()
  const { site, ways } = await openReached(carrier, { operations: OPERATIONS, auth })
  for (const [way, call] of Object.entries(ways)) {
    expect([way, ...(await foundOver(site, people, call))]).toEqual([way])
  }
})

each(CARRIERS, 'shows and ends no call or stream of another caller by its request id or session', async (carrier) => {
  const { people, callsIn, send } = await openShop(carrier)
  for (const { name: op } of [stay, tick]) {
    const { error } = await send(people.ada, { op, ctx: { requestId: crypto.randomUUID(), sessionId: 'of-ada' } })
    expect(error).toBeUndefined()
  }
  const [stays] = await callsIn('main', stay.name)
  const [ticks] = await callsIn('main', tick.name)
  const tries = (requestId: string, sessionId: string): [op: string, args: object][] => [
    ['v1:getOperation', { requestId }],
    ['v1:getOperation', { requestId, watch: true }],
    ['v1:cancelOperation', { requestId }],
    ['v1:getChunk', { requestId }],
    ['v1:unsubscribeFromStream', { requestId }],
    ['v1:unsubscribeFromStream', { sessionId }],
  ]

  for (const who of [people.operator, people.namesake, ...STRANGERS]) {
    const seen = async (id: string, sessionId: string) => {
      const answers: string[] = []
      for (const [op, args] of tries(id, sessionId)) answers.push(await seenOf(send, who, op, args, id))
      return answers
    }
    const none = await seen(NONE, 'of-nobody')
    for (const call of [stays, ticks]) expect(await seen(call?.requestId ?? '', 'of-ada')).toEqual(none)
    for (const call of [stays, ticks]) expect(await seen(call?.id ?? '', 'of-ada')).toEqual(none)
  }

  expect((await callsIn('main', 'v1:shop.*')).map(({ endedAt }) => endedAt)).toEqual([undefined, undefined])
})

each(CARRIERS, 'shows and changes nothing of another tenant to a caller with every scope', async (carrier) => {
  const { people, callsIn, send } = await openShop(carrier)
  await send(people.ada, { op: stay.name, ctx: { requestId: crypto.randomUUID() } })
  const [stays] = await callsIn('main', stay.name)
  const tries = (id: string): [op: string, args: object][] => [
    ['calls.get', { id }],
    ['calls.payload', { id, part: 'args' }],
    ['calls.cancel', { ids: [id], why: 'x' }],
    ['calls.cancel', { filter: { operation: 'v1:shop.*' }, expected: 1, why: 'x' }],
    ['calls.list', { owner: 'callplane|ada', operation: 'v1:shop.*' }],
    ['calls.count', { by: 'owner', operation: 'v1:shop.*' }],
    ['changes.wait', { waitMs: 0, filter: { operation: 'v1:shop.*' } }],
  ]
  const seen = async (id: string) => {
    const answers: string[] = []
    for (const [op, args] of tries(id)) {
      answers.push(await seenOf(send, people.namesake, `v1:callplane.${op}`, args, id))
    }
    return answers
  }

  const none = await seen(NONE)
  const theirs = await seen(stays?.id ?? '')

  expect(theirs).toEqual(none)
  expect(theirs.join()).not.toContain(stays?.requestId)
  expect((await callsIn('main', 'v1:shop.*')).map(({ endedAt }) => endedAt)).toEqual([undefined])
})

each(WITH_FRAMES, 'streams the changes of a tenant to its own operators alone', async (carrier) => {
  const { people, callsIn, send, watch } = await openShop(carrier)
  const ours = await (watch as Watch)(people.operator, { op: WATCH, ctx: { requestId: 'watch' } })
  const theirs = await (watch as Watch)(people.namesake, { op: WATCH, ctx: { requestId: 'watch' } })

  await send(people.ada, { op: pay.name, ctx: { requestId: 'pay' } })
  const [inMain] = await callsIn('main', pay.name)
  const paid = await untilComplete(ours)
  await send(people.namesake, { op: pay.name, ctx: { requestId: 'pay' } })
  const [inElsewhere] = await callsIn('elsewhere', pay.name)
  const seen = await untilComplete(theirs)

  expect(paid.map(({ id }) => id)).toContain(inMain?.id)
  expect(seen.map(({ id }) => id)).toContain(inElsewhere?.id)
  expect(seen.map(({ id }) => id)).not.toContain(inMain?.id)
})

each(WITHOUT_IDENTITY, 'knows a caller by its credential in the envelope, and by nothing else', async (carrier) => {
  const { people, send, sendText } = await openShop(carrier)
  const sendAs = sendText as NonNullable<Reached['sendText']>
  const { operator, ada } = people
  const whoami = { op: WHOAMI, args: {}, ctx: { requestId: crypto.randomUUID() } }
  const text = (auth: object | undefined, op = WHOAMI) => JSON.stringify({ ...whoami, op, auth })
  const headers = { authorization: `Bearer ${operator.token}`, 'x-api-key': operator.token, sub: 'operator' }

  // The claims of another caller, beside a credential of one's own.
  const claimed = await sendAs(text({ ...authOf(ada), sub: 'operator', iss: 'callplane' }), headers)
  const own = await send(ada, whoami)
  expect(claimed.result).toMatchObject({ caller: { owner: 'callplane|ada', tenant: 'main' }, scopes: [] })
  expect(claimed.result).toEqual(own.result)

  // An operation that the claimed caller could call.
  const noBlock = undefined
  const noCredential = authOf({ subject: 'operator' })
  const wrongKind = { ...authOf(operator), credentialType: 'apiKey' }
  const noKind = { ...authOf(operator), credentialType: 'cookie' }
  for (const auth of [noBlock, noCredential, wrongKind, noKind]) {
    const refused = await sendAs(text(auth, 'v1:callplane.calls.list'), headers)
    expect([auth, refused.error?.code, refused.result]).toEqual([auth, 'AUTH_REQUIRED', undefined])
  }

  // Two blocks, in either order: neither counts.
  for (const [first, second] of [[ada, operator] as const, [operator, ada] as const]) {
    const [before] = text(authOf(first)).split(/}$/)
    const twice = await sendAs(`${before},"auth":${JSON.stringify(authOf(second))}}`, {})
    expect([twice.error?.code, twice.result]).toEqual(['DUPLICATE_KEY', undefined])
  }
})

each({ WebRTC: webrtcCarrier }, 'opens no stream on the connection of another caller', async (carrier) => {
  const { people, send } = await openShop(carrier)
  const reader = new Reader()
  onTestFinished(() => reader.close())
  const tickOn = (who: Who, webrtc: object) => send(who, { op: tick.name, args: { webrtc }, ctx: {} })
  const { stream } = await tickOn(people.ada, await reader.offer())
  const { connection } = (stream as unknown as { webrtc: { connection: string } }).webrtc

  for (const who of [people.operator, people.namesake, ...STRANGERS]) {
    const { requestId: _, ...theirs } = await tickOn(who, { connection })
    const { requestId: _none, ...none } = await tickOn(who, { connection: 'none' })
    const isKnown = who === people.operator || who === people.namesake
    expect(theirs.error?.code).toBe(isKnown ? 'CONNECTION_NOT_FOUND' : 'AUTH_REQUIRED')
    expect(theirs).toEqual(none)
  }
  expect((await tickOn(people.ada, { connection })).error).toBeUndefined()
})

each({ 'HTTP/3': http3 }, 'reads no stream of another caller, and takes no second credential', async (carrier) => {
  const { people, send, get } = await openShop(carrier)
  const { operator, ada, namesake } = people
  const bearer = ({ token }: Who) => (token === undefined ? {} : { authorization: `Bearer ${token}` })
  const read: NonNullable<Reached['get']> = (path, headers) =>
    (get as typeof read)(path, { accept: RECORDS_TYPE, ...headers })
  const { stream } = await send(ada, { op: tick.name, args: { transport: 'quic' } })
  const { pathname } = new URL(stream?.location ?? '')

  for (const who of [operator, namesake, ...STRANGERS]) {
    const theirs = await read(pathname, bearer(who))
    const none = await read(`/streams/${NONE}`, bearer(who))
    expect([theirs.status, withoutIds(theirs.body)]).toEqual([none.status, withoutIds(none.body)])
    expect(theirs.status).toBe(who === operator || who === namesake ? 404 : 401)
  }
  const both = [`Bearer ${ada.token}`, `Bearer ${operator.token}`]
  expect((await read('/metrics', { authorization: both })).status).toBe(400)
  expect((await read('/metrics', { ...bearer(ada), 'x-api-key': operator.token })).status).toBe(401)
  expect((await read('/metrics', { 'x-api-key': [operator.token, operator.token] })).status).toBe(401)
  expect((await read('/metrics', bearer(operator))).status).toBe(200)
})

type Watch = NonNullable<Reached['watch']>

/** The frames up to the one about the end of a payment. */
async function untilComplete(frames: Frames) {
  const seen: Awaited<ReturnType<Frames['next']>>[] = []
  for (;;) {
    const frame = await frames.next()
    seen.push(frame)
    if (frame.operation.startsWith(pay.name) && frame.state === 'complete') return seen
  }
}

/** The response, without ids. */
async function seenOf(send: Reached['send'], who: Who, op: string, args: object, id: string): Promise<string> {
  const answer = await send(who, { op, args, ctx: { requestId: crypto.randomUUID() } })
  return (
    JSON.stringify([op, answer])
      .replaceAll(id, 'ID')
      .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
      .replaceAll(/(?:duration\w*|expiresAt)": ?[\d.]+/gi, 'TIME')
      // The place in the changes of the caller's own tenant.
      .replaceAll(/\d{13}\.\d+\.\d{13}/g, 'PLACE')
  )
}

function withoutIds(text: string): string {
  return text.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
}
