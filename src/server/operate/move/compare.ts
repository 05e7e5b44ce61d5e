/** Compares two stores row by row, and makes one hash of all rows. */
import { createHash, type Hash } from 'node:crypto'
import type { Instance } from '../../../core/call/instance.ts'
import { canonicalJson, type JsonValue } from '../../../core/json.ts'
import type { Alias, AuditEntry, Store } from '../../../core/ports/store.ts'
import type { CallAttempts, StoreDump } from '../../../core/ports/store-dump.ts'
import { entriesOf, pagesOf, recordsOf } from './copy.ts'

export interface Check {
  calls: number
  /** Calls with a history of attempts. */
  histories: number
  aliases: number
  records: number
  auditEntries: number
  /** Over all of them, in hex. */
  sha256: string
}

const PAGE = 500

/** What the store's own port does not tell about the target. In the order of the keys and of the ids. */
export interface TargetReads {
  expiriesOf(keys: readonly string[]): Promise<readonly (number | undefined)[]>
  attemptsOf(ids: readonly string[]): Promise<readonly (CallAttempts | undefined)[]>
}

/** `undefined` if they differ. */
export async function compareStores(
  source: Store & { dump: StoreDump },
  target: Store,
  { expiriesOf, attemptsOf }: TargetReads,
): Promise<Check | undefined> {
  const { dump } = source
  const [here, there] = [createHash('sha256'), createHash('sha256')]
  const counts = { calls: 0, histories: 0, aliases: 0, records: 0, auditEntries: 0 }
  const compare = (what: keyof typeof counts, mine: readonly unknown[], theirs: readonly unknown[]) => {
    counts[what] += mine.length
    add(here, mine)
    add(there, theirs)
  }
  for await (const items of pagesOf((after) => dump.calls(PAGE, after)))
    compare('calls', items, await Promise.all(items.map(({ id }) => target.get(id))))
  for await (const items of pagesOf((after) => dump.attempts(PAGE, after)))
    compare('histories', items, await attemptsOf(items.map(({ id }) => id)))
  for await (const items of pagesOf((after) => dump.aliases(PAGE, after))) {
    // Only those that callers can still use are found.
    const alive = items.filter(({ expiresAt }) => expiresAt > target.now())
    const found = alive.map(async (alias) => seen(await target.find(alias.tenant, alias.owner, alias.requestId), alias))
    compare('aliases', alive, await Promise.all(found))
    counts.aliases += items.length - alive.length
  }
  for await (const items of recordsOf(dump)) {
    const alive = items.filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > target.now())
    const expiries = await expiriesOf(alive.map(({ key }) => key))
    const found = alive.map(async ({ key }, at) => {
      const value = await target.records.get(key)
      return value === undefined ? undefined : { key, value, expiresAt: expiries[at] }
    })
    const theirs = await Promise.all(found)
    // A record may expire between the two looks.
    const still = alive.map(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > target.now())
    const kept = <T>(list: readonly T[]) => list.filter((_, at) => still[at])
    compare('records', kept(alive), kept(theirs))
  }
  for (const tenant of await dump.tenants()) {
    const [mine, theirs] = [await allEntries(source, tenant), await allEntries(target, tenant)]
    compare('auditEntries', mine, theirs)
  }
  const sha256 = here.digest('hex')
  return sha256 === there.digest('hex') ? { ...counts, sha256 } : undefined
}

/** Undefined fields are absent, and the order of fields does not count. */
function add(hash: Hash, items: readonly unknown[]): void {
  for (const item of items) hash.update(`${canonicalJson(JSON.parse(JSON.stringify(item ?? null)) as JsonValue)}\n`)
}

/** An alias as it is found: through its call. */
function seen(found: Instance | undefined, { tenant, owner }: Alias): Alias | undefined {
  if (!found) return undefined
  const { requestId, sessionId, id, expiresAt } = found
  return { tenant, owner, requestId, ...(sessionId !== undefined && { sessionId }), instanceId: id, expiresAt }
}

async function allEntries(store: Pick<Store, 'audit'>, tenant: string): Promise<readonly AuditEntry[]> {
  const all: AuditEntry[] = []
  for await (const entries of entriesOf(store, tenant)) all.push(...entries)
  return all
}
