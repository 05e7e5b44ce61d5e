/** A server with callers in two tenants, and people who may read their calls, their payloads, or both. */
import { createToken, type ServerOptions } from 'callplane'
import { expect } from 'vitest'
import type { CallSummary } from '../../../src/engine/admin/calls/call-view.ts'
import { type Answered, type Site, startSite } from '../server.ts'

const PEOPLE = {
  ada: person('ada', ['*']),
  bob: person('bob', ['*']),
  eve: person('eve', ['*'], 'other'),
  reader: person('reader', ['callplane:read']),
  viewer: person('viewer', ['callplane:read', 'callplane:payloads', 'callplane:audit']),
  boss: person('boss', ['callplane:approve', 'callplane:replay']),
  stranger: person('stranger', ['callplane:admin'], 'other'),
}

export type Person = keyof typeof PEOPLE

function person(subject: string, scopes: readonly string[], tenant = 'main') {
  const { token, hash } = createToken()
  return { headers: { Authorization: `Bearer ${token}` }, entry: { hash, kind: 'bearer', subject, scopes, tenant } }
}

export interface Listed {
  calls: CallSummary[]
  next?: string
  complete: boolean
}

export interface Office extends Site {
  as(who: Person, op: string, args?: object, ctx?: object): Promise<Answered>
  headersOf(who: Person): Record<string, string>
  /** Sends a call and waits for its end. */
  done(who: Person, op: string, requestId: string, args?: object, ctx?: object): Promise<Answered>
  /** The result of one of the server's own operations. */
  read<T>(who: Person, op: string, args?: object): Promise<T>
  list(filter?: object, who?: Person): Promise<Listed>
  /** The id of the call with this request id. */
  idOf(requestId: string, who?: Person): Promise<string>
}

export async function openOffice(options: ServerOptions): Promise<Office> {
  const tokens = Object.values(PEOPLE).map(({ entry }) => ({ ...entry, kind: 'bearer' as const }))
  const site = await startSite({ auth: { tokens }, ...options })
  const as: Office['as'] = (who, op, args = {}, ctx = {}) => site.call(op, args, ctx, { headers: PEOPLE[who].headers })
  const read = async <T>(who: Person, op: string, args: object = {}): Promise<T> => {
    const { body } = await as(who, `v1:callplane.${op}`, args)
    expect(body.error).toBeUndefined()
    return body.result as T
  }
  const list: Office['list'] = (filter = {}, who = 'reader') => read<Listed>(who, 'calls.list', filter)
  return {
    ...site,
    as,
    read,
    list,
    headersOf: (who) => PEOPLE[who].headers,
    async done(who, op, requestId, args = {}, ctx = {}) {
      await as(who, op, args, { requestId, ...ctx })
      return site.ended(requestId, PEOPLE[who].headers)
    },
    async idOf(requestId, who = 'reader') {
      const { calls } = await list({ limit: 200 }, who)
      return calls.find((call) => call.requestId === requestId)?.id ?? `no call ${requestId}`
    },
  }
}
