/**
 * The callers of a generation. A call names its caller by a hash, so that the same few hundred bytes are not written
 * again with every call. This node remembers which callers it has written.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { type Session, statement } from '../connect/session.ts'
import { perGeneration } from '../generations/generations.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import { callerHash } from './keys.ts'

export interface StoredCaller {
  hash: string
  tenant: string
  owner: string
  /** JSON. */
  text: string
}

/** At this number of callers the memory is emptied. Its callers are then written again, which changes nothing. */
const MOST = 20_000

export class Callers {
  readonly #insert
  /** By tenant, owner and JSON. */
  readonly #known = new Map<string, StoredCaller>()
  /** The hashes that are stored, of the last generation in which this node wrote. */
  readonly #written = new Set<string>()
  #generation = 0
  /** The last one: many calls in a row have the same caller. */
  #last: { of: Who; stored: StoredCaller } | undefined

  constructor(tables: Tables) {
    this.#insert = perGeneration((generation) =>
      statement(`INSERT INTO ${tables.callers(generation)} (hash, tenant, owner, caller)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING`),
    )
  }

  /** Throws if the caller is not JSON. */
  encode(instance: Instance): StoredCaller {
    const last = this.#last
    if (last && isSame(last.of, instance)) return last.stored
    const { tenant, owner, caller } = instance
    const stored = this.#encode(instance)
    this.#last = { of: { tenant, owner, caller }, stored }
    return stored
  }

  #encode({ tenant, owner, caller }: Instance): StoredCaller {
    const text = JSON.stringify(caller)
    const key = `${tenant.length} ${owner.length} ${tenant}${owner}${text}`
    const known = this.#known.get(key)
    if (known) return known
    const hash = callerHash(tenant, owner, text)
    const stored = { hash, tenant: encodeText(tenant), owner: encodeText(owner), text }
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(key, stored)
    return stored
  }

  /** Before calls of these callers are inserted, in a commit of its own. */
  async write(session: Session, generation: number, callers: readonly StoredCaller[]): Promise<void> {
    if (generation !== this.#generation || this.#written.size >= MOST) {
      this.#generation = generation
      this.#written.clear()
    }
    const missing = new Map<string, StoredCaller>()
    for (const caller of callers) if (!this.#written.has(caller.hash)) missing.set(caller.hash, caller)
    if (missing.size === 0) return
    const rows = [...missing.values()].sort((a, b) => (a.hash < b.hash ? -1 : 1))
    await session.query(this.#insert(generation), [
      encodeArray(
        'uuid',
        rows.map(({ hash }) => hash),
      ),
      ...(['tenant', 'owner', 'text'] as const).map((field) =>
        encodeArray(
          'text',
          rows.map((row) => row[field]),
        ),
      ),
    ])
    if (generation === this.#generation) for (const { hash } of rows) this.#written.add(hash)
  }
}

type Who = Pick<Instance, 'tenant' | 'owner' | 'caller'>

/** Callers do not change, so the same object is the same caller. */
function isSame(one: Who, other: Who): boolean {
  return one.caller === other.caller && one.tenant === other.tenant && one.owner === other.owner
}
