/**
 * Stores approvals and finds them: by id, by the call they apply to, and, until they are decided, in the list of
 * pending ones. It builds the records for a change. The caller writes them in one commit, together with the call if
 * there is one. `approvals.ts` decides which changes are allowed.
 */
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Records } from '../../core/ports/store.ts'

export interface Approval {
  id: string
  tenant: string
  /** `canceled`: the call ended before it used the approval. */
  status: 'pending' | 'approved' | 'denied' | 'used' | 'canceled'
  /** The owner of the call. */
  owner: string
  userId?: string
  /** The operator who made the call for its caller. */
  replayedBy?: string
  operation: string
  risk: Operation['risk']
  args: JsonValue
  attachments?: readonly Attachment[]
  /**
   * A hash of the operation, the caller, the arguments and the attachments. The approval applies only to calls with
   * this hash.
   */
  binding: string
  rule?: string
  reason?: string
  /** The call that waits for the approval. Absent: the approval applies to the next call that matches. */
  instanceId?: string
  /** The idempotency key of the call that used the approval. A repeat of that call does not count as a second use. */
  usedUnder?: string
  selfApproval: boolean
  createdAt: number
  /** Until when it can be decided. Once it is approved: until when it can be used. */
  expiresAt: number
  decision?: { by: string; at: number; why?: string }
  /** The approved call of the same operation and caller before this one. Present once this one is approved. */
  previous?: string
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

/** How long a decided approval can be read after its expiry. */
const RETENTION_MS = 30 * 86_400_000
/** The minimum time for which the idempotency key of the call that used the approval is kept. */
const USE_RETENTION_MS = 86_400_000
/** Longer than any store takes to write the call and its approval. */
const PLACE_MS = 60_000
const PAGE = 200

/**
 * Another change of the same approval can make a try fail. After this many tries the operation gives up with a fault.
 */
export const MOST_TRIES = 8

export function isOver({ expiresAt }: Approval, now: number): boolean {
  return expiresAt <= now
}

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

  /** Changes the approval if it still equals `from`. */
  change(from: Approval, to: Approval): RecordChange {
    return { key: keyOf(to), expected: JSON.stringify(from), value: JSON.stringify(to), expiresAt: keptUntil(to) }
  }

  /** The records of a new approval, which is added to the list of pending ones. */
  opening(approval: Approval): RecordChange[] {
    const { tenant, id, expiresAt } = approval
    return [
      { key: keyOf(approval), value: JSON.stringify(approval), expiresAt: keptUntil(approval) },
      { key: waitingKey(approval), value: JSON.stringify([tenant, id]), expiresAt },
      { key: this.#ownedKey(approval), value: '', expiresAt },
    ]
  }

  /** Removes the approval from the list of pending ones. */
  striking(approval: Pick<Approval, 'tenant' | 'owner' | 'id'>): RecordChange[] {
    return [{ key: waitingKey(approval) }, { key: this.#ownedKey(approval) }]
  }

  /**
   * Counts the approval for its owner before it is opened. False if the owner already has `most`. Concurrent calls
   * cannot exceed the limit. If the server ends before it opens the approval, the reservation expires.
   */
  async reserve(approval: Approval, most: number): Promise<boolean> {
    const key = this.#ownedKey(approval)
    await this.#records.put(key, '', Math.min(approval.expiresAt, this.#env.clock.now() + PLACE_MS))
    const owned = await this.#records.list(this.#ownedKey({ ...approval, id: '' }), most + 1)
    if (owned.length <= most) return true
    await this.#records.remove(key)
    return false
  }

  /** True if this owner has fewer than `most` approvals that wait or are about to. */
  async hasRoom(who: Pick<Approval, 'tenant' | 'owner'>, most: number): Promise<boolean> {
    return (await this.#records.list(this.#ownedKey({ ...who, id: '' }), most)).length < most
  }

  async unreserve(approval: Approval): Promise<void> {
    await this.#records.remove(this.#ownedKey(approval))
  }

  /** The pending approvals of one tenant or of all tenants, oldest first. Some may have been decided a moment ago. */
  async *waiting(tenant?: string, after?: string): AsyncIterable<Approval> {
    for await (const { approval } of this.listed(tenant, after)) if (approval) yield approval
  }

  /** The entries of the list, including entries without an approval. */
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

  /**
   * The current approval for this call, pending or approved. Earlier versions could lose the approval and keep its id.
   */
  async standing(tenant: string, binding: string): Promise<Standing | undefined> {
    const id = await this.#records.get(standingKey({ tenant, binding }))
    return id === undefined ? undefined : { id, approval: await this.get(tenant, id) }
  }

  /** Replaces `before`. If two requests for the same call arrive at once, only one opens an approval. */
  stand(approval: Approval, before: Standing | undefined): RecordChange {
    const { id } = approval
    return { key: standingKey(approval), expected: before?.id ?? null, value: id, expiresAt: keptUntil(approval) }
  }

  standUntilExpiry(approval: Approval): RecordChange {
    return { key: standingKey(approval), value: approval.id, expiresAt: approval.expiresAt }
  }

  /** Makes the approval no longer the current one. If another approval is current, nothing changes. */
  steppingDown(approval: Approval): RecordChange {
    return { key: standingKey(approval), expected: approval.id }
  }

  /** Records the use under a key, so that a repeat of the call finds it. */
  noteUse({ tenant, binding, id }: Approval, key: string): RecordChange {
    const expiresAt = this.#env.clock.now() + USE_RETENTION_MS
    return { key: this.#useKey(tenant, binding, key), value: id, expiresAt }
  }

  async usedUnder(tenant: string, binding: string, key: string): Promise<Approval | undefined> {
    const id = await this.#records.get(this.#useKey(tenant, binding, key))
    const approval = id === undefined ? undefined : await this.get(tenant, id)
    return approval?.status === 'used' && approval.usedUnder === key ? approval : undefined
  }

  /** The id of the last approved call of the same operation and caller. */
  lastApproved(approval: Approval): Promise<string | undefined> {
    return this.#records.get(this.#lastKey(approval))
  }

  /** Makes this approval the last one of its operation and caller. */
  noteApproved(approval: Approval): RecordChange {
    return { key: this.#lastKey(approval), value: approval.id, expiresAt: keptUntil(approval) }
  }

  #lastKey({ tenant, owner, userId = '', operation }: Approval): string {
    return `approval-last/${part(tenant)}/${this.#env.digest(JSON.stringify([owner, userId, operation]))}`
  }

  #useKey(tenant: string, binding: string, key: string): string {
    return `approval-used/${part(tenant)}/${this.#env.digest(JSON.stringify([binding, key]))}`
  }

  #ownedKey({ tenant, owner, id }: Pick<Approval, 'tenant' | 'owner' | 'id'>): string {
    return `approval-of/${part(tenant)}/${this.#env.digest(owner)}/${id}`
  }
}

/** An undecided approval is kept for one more TTL, so that a late request learns that it was not decided in time. */
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

/** A tenant name can contain any character, as in `acme/payments`. Encoding keeps it one segment of the key. */
function part(tenant: string): string {
  return encodeURIComponent(tenant.toWellFormed())
}
