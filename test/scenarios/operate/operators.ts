/** A server with two tenants, people with single scopes, and operations that fail until they are mended. */
import { join } from 'node:path'
import { createToken, Fault, operation, type ServerOptions } from 'callplane'
import { expect } from 'vitest'
import type { CallFilter } from '../../../src/core/ports/call-list.ts'
import type { OpenStore, Store } from '../../../src/core/ports/store.ts'
import type { DeadLetterPage } from '../../../src/engine/admin/dead-letters/list.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { type Answered, startSite, temporaryFolder } from '../server.ts'

function person(subject: string, scopes: readonly string[], tenant = 'main') {
  const { token, hash } = createToken()
  const entry = { hash, kind: 'bearer' as const, subject, scopes, tenant }
  return { token, headers: { Authorization: `Bearer ${token}` }, entry }
}

export async function openWorks(options: Partial<ServerOptions> = {}) {
  const people = {
    ada: person('ada', []),
    bob: person('bob', []),
    reader: person('reader', ['callplane:read']),
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
  const data = options.data ?? temporaryFolder()
  let store: Store | undefined
  const open: OpenStore = async ({ clock, log }) => {
    store = createSqliteStore({ file: join(data, 'calls.db'), clock, log })
    return store
  }
  const site = await startSite({ operations: [pay, refuse, stay], auth: { tokens }, store: open, ...options, data })
  type Name = keyof typeof people
  let keys = 0
  const as = (who: Name, op: string, given: object = {}, ctx: object = {}): Promise<Answered> =>
    site.call(op, given, { idempotencyKey: `key-${++keys}`, ...ctx }, { headers: people[who].headers })
  const ended = (who: Name, requestId: string) => site.ended(requestId, people[who].headers)
  return {
    ...site,
    people,
    runs,
    state,
    as,
    /** The ids of the calls of the shop, newest first. */
    async ids(tenant = 'main', filter: CallFilter = {}): Promise<string[]> {
      const query = { tenant, filter: { operation: 'v1:shop.*', ...filter }, limit: 5_000, scan: 20_000 }
      return ((await store?.calls.page(query))?.calls ?? []).map(({ id }) => id)
    },
    stored: (id: string) => (store as Store).get(id),
    endedOf: ended,
    /** Makes calls, and waits for their ends. */
    async make(who: Name, op: string, count: number): Promise<void> {
      const made = await Promise.all(Array.from({ length: count }, (_, n) => as(who, op, { n })))
      await Promise.all(made.map(({ body }) => ended(who, body.requestId)))
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
        first.body.state === 'complete' || first.body.error ? first : await ended(who, first.body.requestId)
      expect(body.error).toBeUndefined()
      return body.result as T
    },
  }
}
