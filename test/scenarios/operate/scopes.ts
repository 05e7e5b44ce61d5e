/**
 * Callers with one scope, with none and without a valid credential, and what each of them finds: an operation is found
 * if the answer about it differs from that about a name that does not exist. The names themselves are in the docs.
 */
import { createToken, operation, type ServerOptions } from 'callplane'
import { expect } from 'vitest'
import { SCOPES } from '../../../src/core/operation/scopes.ts'
import { type Site, startSite } from '../server.ts'

export interface Person {
  subject: string
  scopes: readonly string[]
  /** Absent: this caller sends no credential. */
  token?: string
  headers: Record<string, string>
}

/** One operation that a caller tries. */
export interface Try {
  who: Person
  /** As OpenCALL names it: `v1:callplane.calls.list`. */
  op: string
  /** As tools are named: `callplane_calls_list`. */
  tool: string
  args: object
}

/** What a caller sees. The name of the operation is taken out. */
export type Seen = object | string

const { admin: _all, ...SINGLE } = SCOPES
const CALLERS: Readonly<Record<string, readonly string[]>> = { none: [], star: ['*'], ...listed(SINGLE) }

function listed(scopes: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(scopes).map(([name, scope]) => [name, [scope]]))
}

/** What each scope opens. An operation or a scope that is added must be added here. */
const OPENS: Readonly<Record<string, readonly string[]>> = {
  approve: ['approvals.decide', 'approvals.get', 'approvals.list'],
  audit: ['audit.list'],
  operate: ['calls.cancel', 'deadletters.dismiss'],
  payloads: ['calls.payload'],
  read: [
    ...['audit.list', 'calls.count', 'calls.get', 'calls.list', 'changes.wait', 'changes.watch', 'deadletters.list'],
    ...['exports.create', 'metrics.series', 'nodes.list', 'operations.get'],
  ],
  replay: ['calls.replay'],
}

export const opensFor = (caller: string) => (OPENS[caller] ?? []).map((name) => `v1:callplane.${name}`)
/** As `foundOver` lists them. */
export const ALLOWED = Object.keys(OPENS).flatMap((caller) => opensFor(caller).map((op) => `${caller} ${op}`))

/** An operation of the application, which calls another one. */
export const PLAIN = 'v1:it.relays'

const relay = operation(PLAIN, {
  args: { type: 'object', required: ['op'], properties: { op: { type: 'string' }, args: { type: 'object' } } },
  run: (given, ctx) => ctx.call(String(given.op), given.args as Record<string, never>),
})

/** With a public operation, protocols also listen to callers without a credential. */
const open = operation('v1:it.greets', { public: true, run: () => 'hello' })

export const OPERATIONS = [relay, open]

export const toolOf = (op: string) => op.slice(3).replaceAll('.', '_')

/** The callers that a server knows. */
export function createPeople() {
  const known = Object.entries(CALLERS).map(([subject, scopes]) => {
    const { token, hash } = createToken()
    const person: Person = { subject, scopes, token, headers: { Authorization: `Bearer ${token}` } }
    return { person, entry: { hash, kind: 'bearer' as const, subject, scopes } }
  })
  return { people: known.map(({ person }) => person), auth: { tokens: known.map(({ entry }) => entry) } }
}

const { token: WRONG } = createToken()

/** Callers that the server does not know: one without a credential, and one with a wrong one. */
export const STRANGERS: readonly Person[] = [
  { subject: 'nobody', scopes: [], headers: {} },
  { subject: 'forger', scopes: [], token: WRONG, headers: { Authorization: `Bearer ${WRONG}` } },
]

/** A server that offers its own operations everywhere. */
export async function openScopedSite(options: Partial<ServerOptions> = {}) {
  const { people, auth } = createPeople()
  const site = await startSite({
    operations: OPERATIONS,
    auth,
    mcp: { administration: true },
    rest: { allowExecute: true },
    ...options,
  })
  return { site, people }
}

/** The operations of the server that need a scope. */
export function ownOf({ server }: Pick<Site, 'server'>) {
  const all = server.registry.listInternal(Date.now()).map(({ name, scopes }) => ({ op: name.full, scopes }))
  return all.filter(({ op, scopes }) => op.startsWith('v1:callplane.') && scopes.length > 0)
}

/** A list of operations, and which of the server's it offers to callers with their scopes. `calls`: no streams. */
export interface OperationList {
  offers: 'all' | 'calls' | 'none'
  read(who: Person): Promise<Seen>
}

const STREAM = 'v1:callplane.changes.watch'

/** A list names the operations of the server to those who may call them alone. */
export async function expectListed(
  site: Pick<Site, 'server'>,
  people: readonly Person[],
  { offers, read }: OperationList,
): Promise<void> {
  const all = [...people, ...STRANGERS]
  // Twice: what was written for one caller must not be sent to another.
  for (const who of [...all, ...all.toReversed()]) {
    const text = JSON.stringify(await read(who))
    const named = ownOf(site)
      .map(({ op }) => op)
      .filter((op) => new RegExp(`(?:${op.replaceAll('.', '\\.')}|${toolOf(op)})(?![.\\w])`).test(text))
    const expected = opensFor(who.subject).filter((op) => offers === 'all' || (offers === 'calls' && op !== STREAM))
    expect([who.subject, ...named.sort()]).toEqual([who.subject, ...expected.sort()])
  }
}

/** Ids and times differ from answer to answer. */
export function withoutChance(seen: Seen, { op, tool }: Pick<Try, 'op' | 'tool'>): string {
  return JSON.stringify(seen)
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32}/g, 'ID')
    .replaceAll(/\b(?:duration|latency)\w*\\?": ?[\d.]+/gi, 'DURATION')
    .replaceAll(/content-length":"\d+/g, 'LENGTH')
    .replaceAll(op, 'NAME')
    .replaceAll(op.slice(3), 'NAME')
    .replaceAll(op.slice(3).replace('.', '_'), 'NAME')
    .replaceAll(tool, 'NAME')
}

/** No operation takes them all, so past its scopes each operation refuses some. */
const ARGUMENTS: readonly object[] = [{ waitMs: 0 }, { id: 7 }, { ids: ['x'], why: 'x', as: 'me' }]

const NOTHING = 'v1:callplane.calls.nothing'

/**
 * Who gets another answer than for a name that does not exist: `caller operation`. OpenCALL asks for a credential after it
 * has looked for the name, so a stranger may be asked for one.
 */
export async function foundOver(
  site: Pick<Site, 'server'>,
  people: readonly Person[],
  wire: (of: Try) => Promise<Seen>,
): Promise<string[]> {
  const own = ownOf(site)
  const found = new Set<string>()
  for (const who of [...people, ...STRANGERS]) {
    for (const args of ARGUMENTS) {
      const seenOf = async (op: string) => {
        const named = { op, tool: toolOf(op) }
        return withoutChance(await wire({ who, args, ...named }), named)
      }
      const nothing = await seenOf(NOTHING)
      // An operation of the application is found by every known caller, so the wire does reach operations.
      if (people.includes(who)) expect(await seenOf(PLAIN)).not.toBe(nothing)
      const seen = await Promise.all(own.map(async ({ op }) => ({ op, answer: await seenOf(op) })))
      const isAsked = (answer: string) => STRANGERS.includes(who) && answer.includes('AUTH_REQUIRED')
      for (const { op, answer } of seen) if (answer !== nothing && !isAsked(answer)) found.add(`${who.subject} ${op}`)
    }
  }
  return [...found].sort()
}
