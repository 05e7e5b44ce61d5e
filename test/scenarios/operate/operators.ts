/** A server with two tenants, people with single scopes, and operations that fail until they are mended. */
import { createToken, Fault, operation, type ServerOptions } from 'callplane'
import { expect } from 'vitest'
import type { CallFilter } from '../../../src/core/ports/call-list.ts'
import type { OpenStore, Store } from '../../../src/core/ports/store.ts'
import type { DeadLetterPage } from '../../../src/engine/admin/dead-letters/list.ts'
import { inSqlite, type NewPlace } from '../places.ts'
import { type Answered, type Site, startSite } from '../server.ts'

function person(subject: string, scopes: readonly string[], tenant = 'main') {
  const { token, hash } = createToken()
  const entry = { hash, kind: 'bearer' as const, subject, scopes, tenant }
  return { token, headers: { Authorization: `Bearer ${token}` }, entry }
}

/** The people and the operations. Several servers can have the same shop. */
export function createShop() {
  const people = {
    ada: person('ada', []),
    bob: person('bob', []),
    reader: person('reader', ['callplane:read', 'callplane:metrics']),
    operator: person('operator', ['callplane:operate', 'callplane:read', 'callplane:approve']),
    replayer: person('replayer', ['callplane:replay', 'callplane:read', 'callplane:approve']),
    auditor: person('auditor', ['callplane:read', 'callplane:payloads']),
    stranger: person('stranger', ['callplane:admin'], 'elsewhere'),
  }
  const runs: { by: string; args: unknown }[] = []
  const state = { broken: true }
  const args = { type: 'object', properties: { n: { type: 'integer' } } }
  const pay = operation('v1:shop.pay', {
    args,
    model: 'async',
    sideEffecting: true,
    ttlSeconds: 60,
    run: (given, { caller }) => {
      runs.push({ by: caller.subject, args: given })
      if (state.broken) throw new Fault('upstream', 'The bank is away.', { code: 'BANK_AWAY' })
      return { paid: true }
    },
  })
  const refuse = operation('v1:shop.refuse', {
    args,
    model: 'async',
    run: (_, ctx) => ctx.fail('NO', 'Not today.'),
  })
  const stay = operation('v1:shop.stay', {
    args,
    model: 'async',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const tokens = Object.values(people).map(({ entry }) => entry)
  return { people, runs, state, operations: [pay, refuse, stay], auth: { tokens } }
}

type Shop = ReturnType<typeof createShop>
type Name = keyof Shop['people']

/** What the people of the shop do at one server. */
export function workAt(site: Pick<Site, 'call' | 'ended'>, { people }: Pick<Shop, 'people'>) {
  const as = (who: Name, op: string, given: object = {}, ctx: object = {}): Promise<Answered> =>
    site.call(op, given, { idempotencyKey: crypto.randomUUID(), ...ctx }, { headers: people[who].headers })
  const endedOf = (who: Name, requestId: string) => site.ended(requestId, people[who].headers)
  return {
    as,
    endedOf,
    /** Makes calls, and waits for their ends. */
    async make(who: Name, op: string, count: number): Promise<void> {
      const made = await Promise.all(Array.from({ length: count }, (_, n) => as(who, op, { n })))
      await Promise.all(made.map(({ body }) => endedOf(who, body.requestId)))
    },
    async dead(who: Name = 'reader', filter: object = {}): Promise<DeadLetterPage> {
      const { body } = await as(who, 'v1:callplane.deadletters.list', filter)
      expect(body.error).toBeUndefined()
      return body.result as unknown as DeadLetterPage
    },
    /** The result of an operation, whether it takes long or not. */
    async result<T>(who: Name, op: string, given: object, ctx: object = {}): Promise<T> {
      const first = await as(who, op, given, ctx)
      const { body } =
        first.body.state === 'complete' || first.body.error ? first : await endedOf(who, first.body.requestId)
      expect(body.error).toBeUndefined()
      return body.result as T
    },
  }
}

export type Works = Awaited<ReturnType<typeof openWorks>>

export async function openWorks(
  options: Partial<Omit<ServerOptions, 'data' | 'store'>> = {},
  newPlace: NewPlace = inSqlite,
) {
  const shop = createShop()
  const place = newPlace()
  let store: Store | undefined
  const open: OpenStore = async (parts) => {
    store = await place.store(parts)
    return store
  }
  const { operations, auth } = shop
  const site = await startSite({ operations, auth, ...options, data: place.data, store: open })
  return {
    ...site,
    ...shop,
    ...workAt(site, shop),
    /** The ids of the calls of the shop, newest first. */
    async ids(tenant = 'main', filter: CallFilter = {}): Promise<string[]> {
      const query = { tenant, filter: { operation: 'v1:shop.*', ...filter }, limit: 5_000, scan: 20_000 }
      return ((await store?.calls.page(query))?.calls ?? []).map(({ id }) => id)
    },
    stored: (id: string) => (store as Store).get(id),
  }
}

/** The text of a chunked result. */
export async function chunksOf(site: Pick<Site, 'request'>, requestId: string, headers: Record<string, string>) {
  let [text, cursor] = ['', '']
  for (;;) {
    const query = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`
    const response = await site.request(`/ops/${requestId}/chunks${query}`, { headers })
    const { data = '', cursor: next } = (await response.json()) as { data?: string; cursor?: string | null }
    text += data
    if (!next) return text
    cursor = next
  }
}
