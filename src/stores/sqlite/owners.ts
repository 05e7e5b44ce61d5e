/** The owners of calls. An owner is stored once, with the caller of its first call, as long as it has a call. */
import type { Database } from 'better-sqlite3'
import type { Caller } from '../../core/call/caller.ts'
import type { Instance } from '../../core/call/instance.ts'

export interface KnownOwner {
  /** Refers to the owner in the rows of its calls. */
  ref: number
  tenant: string
  owner: string
  caller: Caller
  callerText: string
}

interface OwnerRow {
  ref: number
  tenant: string
  owner: string
  caller: string
}

/** The size of the cache: about 10 MB. */
const MAX_KNOWN = 20_000

export class Owners {
  readonly #byName = new Map<string, Map<string, KnownOwner>>()
  readonly #byRef = new Map<number, KnownOwner>()
  readonly #texts = new WeakMap<Caller, string>()
  readonly #select
  readonly #selectByRef
  readonly #insert
  readonly #remove

  constructor(db: Database) {
    this.#select = db.prepare<[string, string], OwnerRow>('SELECT * FROM owners WHERE tenant = ? AND owner = ?')
    this.#selectByRef = db.prepare<[number], OwnerRow>('SELECT * FROM owners WHERE ref = ?')
    this.#insert = db.prepare<[string, string, string], OwnerRow>(
      'INSERT INTO owners (tenant, owner, caller) VALUES (?, ?, ?) RETURNING *',
    )
    this.#remove = db.prepare<[number]>(
      'DELETE FROM owners WHERE ref = ? AND NOT EXISTS (SELECT 1 FROM instances WHERE owner = owners.ref)',
    )
  }

  find(tenant: string, owner: string): KnownOwner | undefined {
    return this.#byName.get(tenant)?.get(owner) ?? this.#keep(this.#select.get(tenant, owner))
  }

  /** Only inside a transaction. */
  findOrAdd({ tenant, owner, caller }: Instance): KnownOwner {
    return this.find(tenant, owner) ?? (this.#keep(this.#insert.get(tenant, owner, this.#textOf(caller))) as KnownOwner)
  }

  byRef(ref: number): KnownOwner {
    const known = this.#byRef.get(ref) ?? this.#keep(this.#selectByRef.get(ref))
    if (!known) throw new TypeError(`Owner ${ref} is not in the database; one of its calls is.`)
    return known
  }

  /** The caller's text, if it differs from the text stored with the owner. */
  ownText(caller: Caller, known: KnownOwner): string | undefined {
    if (caller === known.caller) return undefined
    const text = this.#textOf(caller)
    return text === known.callerText ? undefined : text
  }

  /** Removes the owner if it has no call. Only inside a transaction. */
  removeIdle(ref: number): void {
    const known = this.#byRef.get(ref)
    if (this.#remove.run(ref).changes === 0 || !known) return
    const ofTenant = this.#byName.get(known.tenant)
    this.#byRef.delete(ref)
    ofTenant?.delete(known.owner)
    if (ofTenant?.size === 0) this.#byName.delete(known.tenant)
  }

  /** Empties the cache after a rollback, because owners that the transaction added are not in the database. */
  forget(): void {
    this.#byName.clear()
    this.#byRef.clear()
  }

  #keep(row: OwnerRow | undefined): KnownOwner | undefined {
    if (!row) return undefined
    if (this.#byRef.size >= MAX_KNOWN) this.forget()
    const { caller: callerText, ...rest } = row
    const known: KnownOwner = { ...rest, caller: JSON.parse(callerText) as Caller, callerText }
    const owners = this.#byName.get(row.tenant) ?? new Map<string, KnownOwner>()
    this.#byName.set(row.tenant, owners.set(row.owner, known))
    this.#byRef.set(row.ref, known)
    return known
  }

  /** Cached by object: all calls with the same cached credential have the same caller object. */
  #textOf(caller: Caller): string {
    const kept = this.#texts.get(caller)
    if (kept !== undefined) return kept
    const text = JSON.stringify(caller)
    this.#texts.set(caller, text)
    return text
  }
}
