/**
 * Where approvals are kept, and how they are found: each under its id, by the call it is good for, and, while nobody
 * has decided, in the list of those that wait. It says which records a change needs; they are written together, and
 * with the call where there is one. What may happen to an approval is for `approvals.ts` to say.
 */
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Records } from '../../core/ports/store.ts'

export interface Approval {
  id: string
  tenant: string
  /** `canceled`: its call has ended without it. */
  status: 'pending' | 'approved' | 'denied' | 'used' | 'canceled'
  /** Who wants to run it. */
  owner: string
  userId?: string
  operation: string
  risk: Operation['risk']
  args: JsonValue
  attachments?: readonly Attachment[]
  /** Of the operation, the caller, the arguments and the attachments: what it is good for. */
  binding: string
  rule?: string
  reason?: string
  /** The call that waits for it; without one it is good for the next call that matches. */
  instanceId?: string
  /** The idempotency key of the call that has used it: the same call again is no second use. */
  usedUnder?: string
  selfApproval: boolean
  createdAt: number
  /** Until when it can be decided, and once it is given, until when it can be used. */
  expiresAt: number
  decision?: { by: string; at: number; why?: string }
}

export interface Attachment {
  name: string
  mimeType: string
  bytes: number
  sha256: string
}

export interface Listed {
  tenant: string
  id: string
  approval: Approval | undefined
}

export interface Standing {
  id: string
  approval: Approval | undefined
}

/** How long one that somebody has decided can be looked up after its end. */
const RETENTION_MS = 30 * 86_400_000
/** As long as the key of the call that used it is kept at the least, and no longer. */
const USE_RETENTION_MS = 86_400_000
/** Longer than any store takes to write the call and its approval. */
const PLACE_MS = 60_000
const PAGE = 200

export class ApprovalBook {
  readonly #env: Pick<Environment, 'clock' | 'digest'>
  readonly #records: Records

  constructor(env: Pick<Environment, 'clock' | 'digest'>, records: Records) {
    this.#env = env
    this.#records = records
  }

  async get(tenant: string, id: string): Promise<Approval | undefined> {
    if (id.includes('/')) return undefined
    const text = await this.#records.get(keyOf({ tenant, id }))
    const approval = text === undefined ? undefined : (JSON.parse(text) as Approval)
    return approval?.tenant === tenant ? approval : undefined
  }

  async list(tenant: string, limit: number, after?: string): Promise<readonly Approval[]> {
    const from = after === undefined ? undefined : keyOf({ tenant, id: after })
    const found = await this.#records.list(keyOf({ tenant, id: '' }), limit, from)
    return found.map(({ value }) => JSON.parse(value) as Approval).filter((approval) => approval.tenant === tenant)
  }

  /** Changes it if it is still as it was seen. */
  change(from: Approval, to: Approval): RecordChange {
    return { key: keyOf(to), expected: JSON.stringify(from), value: JSON.stringify(to), expiresAt: keptUntil(to) }
  }

  /** A new one, on the list of those that wait. */
  opening(approval: Approval): RecordChange[] {
    const { tenant, id, expiresAt } = approval
    return [
      { key: keyOf(approval), value: JSON.stringify(approval), expiresAt: keptUntil(approval) },
      { key: waitingKey(approval), value: JSON.stringify([tenant, id]), expiresAt },
      { key: this.#ownedKey(approval), value: '', expiresAt },
    ]
  }

  /** Takes it off the list. */
  striking(approval: Pick<Approval, 'tenant' | 'owner' | 'id'>): RecordChange[] {
    return [{ key: waitingKey(approval) }, { key: this.#ownedKey(approval) }]
  }

  /**
   * Counts it among those of its owner before it is opened, unless there are `most`: concurrent calls cannot exceed the
   * limit. The place is free again after a while if the server ends before it opens the approval.
   */
  async reserve(approval: Approval, most: number): Promise<boolean> {
    const key = this.#ownedKey(approval)
    await this.#records.put(key, '', Math.min(approval.expiresAt, this.#env.clock.now() + PLACE_MS))
    const owned = await this.#records.list(this.#ownedKey({ ...approval, id: '' }), most + 1)
    if (owned.length <= most) return true
    await this.#records.remove(key)
    return false
  }

  async unreserve(approval: Approval): Promise<void> {
    await this.#records.remove(this.#ownedKey(approval))
  }

  /** Those on the list, the oldest first: of one tenant, or of all. They may have been decided a moment ago. */
  async *waiting(tenant?: string, after?: string): AsyncIterable<Approval> {
    for await (const { approval } of this.listed(tenant, after)) if (approval) yield approval
  }

  /** The entries of the list, with those whose approval is not there. */
  async *listed(tenant?: string, after?: string): AsyncIterable<Listed> {
    const prefix = tenant === undefined ? WAITING : waitingKey({ tenant, id: '' })
    let last = after === undefined || tenant === undefined ? undefined : waitingKey({ tenant, id: after })
    for (;;) {
      const page = await this.#records.list(prefix, PAGE, last)
      for (const { value } of page) {
        const [ofTenant, id] = JSON.parse(value) as [string, string]
        yield { tenant: ofTenant, id, approval: await this.get(ofTenant, id) }
      }
      if (page.length < PAGE) return
      last = page.at(-1)?.key
    }
  }

  /** The one that is good for this call, or asked about it. Versions before this one could lose it and keep its id. */
  async standing(tenant: string, binding: string): Promise<Standing | undefined> {
    const id = await this.#records.get(standingKey({ tenant, binding }))
    return id === undefined ? undefined : { id, approval: await this.get(tenant, id) }
  }

  /** In place of `before`: of two who ask about the same call at once, one opens an approval. */
  stand(approval: Approval, before: Standing | undefined): RecordChange {
    const { id } = approval
    return { key: standingKey(approval), expected: before?.id ?? null, value: id, expiresAt: keptUntil(approval) }
  }

  standUntilExpiry(approval: Approval): RecordChange {
    return { key: standingKey(approval), value: approval.id, expiresAt: approval.expiresAt }
  }

  /** Does not stand any more; if another one does, that stays. */
  steppingDown(approval: Approval): RecordChange {
    return { key: standingKey(approval), expected: approval.id }
  }

  /** A use under a key, to be found again by a repeat of the call. */
  noteUse({ tenant, binding, id }: Approval, key: string): RecordChange {
    const expiresAt = this.#env.clock.now() + USE_RETENTION_MS
    return { key: this.#useKey(tenant, binding, key), value: id, expiresAt }
  }

  async usedUnder(tenant: string, binding: string, key: string): Promise<Approval | undefined> {
    const id = await this.#records.get(this.#useKey(tenant, binding, key))
    const approval = id === undefined ? undefined : await this.get(tenant, id)
    return approval?.status === 'used' && approval.usedUnder === key ? approval : undefined
  }

  #useKey(tenant: string, binding: string, key: string): string {
    return `approval-used/${part(tenant)}/${this.#env.digest(JSON.stringify([binding, key]))}`
  }

  #ownedKey({ tenant, owner, id }: Pick<Approval, 'tenant' | 'owner' | 'id'>): string {
    return `approval-of/${part(tenant)}/${this.#env.digest(owner)}/${id}`
  }
}

/** What nobody decided is kept for as long again, so that whoever asks late hears that it was not decided in time. */
export function keptUntil({ status, createdAt, expiresAt }: Approval): number {
  const undecided = status === 'pending' || status === 'canceled'
  return expiresAt + (undecided ? expiresAt - createdAt : RETENTION_MS)
}

const WAITING = 'approval-waiting/'

function keyOf({ tenant, id }: Pick<Approval, 'tenant' | 'id'>): string {
  return `approval/${part(tenant)}/${id}`
}

function waitingKey({ tenant, id }: Pick<Approval, 'tenant' | 'id'>): string {
  return `${WAITING}${part(tenant)}/${id}`
}

function standingKey({ tenant, binding }: Pick<Approval, 'tenant' | 'binding'>): string {
  return `approval-for/${part(tenant)}/${binding}`
}

/** A tenant may be called whatever its issuer likes, `acme/payments` too: it stays one part of a key. */
function part(tenant: string): string {
  return encodeURIComponent(tenant.toWellFormed())
}
