/**
 * Decides which caller may take the next slot. While many slots are free, every caller may. The last slots are a reserve:
 * a caller gets one if it has none, or fewer than half of the free ones. So no caller takes the whole reserve, and the
 * first call of another caller finds a slot. The last part of the reserve is shared among tenants in the same way.
 *
 * Running calls are not interrupted, so slots for later callers must stay free in advance.
 */

/** A caller within its tenant. Instances have these fields. */
export interface SlotOwner {
  readonly tenant: string
  readonly owner: string
}

/** The state that another process needs to make the same decision. */
export interface SharesSnapshot {
  slots: number
  reserve: number
  running: readonly (readonly [tenant: string, owner: string, running: number])[]
}

interface CallerShare {
  readonly who: SlotOwner
  readonly of: TenantShare
  running: number
  queued: number
}

interface TenantShare {
  running: number
  callers: Map<string, CallerShare>
}

/** Of the reserve, this part is shared out among tenants: with 256 slots, the last 8. */
const TENANTS_PART = 4
/** A caller may overtake the queue while it runs less than this part of the reserve: with 256 slots, 4 calls. */
const OVERTAKING_PART = 8
/** Shares of idle callers kept in memory. Most callers call again. */
const MAX_IDLE = 256

export class SlotShares {
  readonly slots: number
  readonly #reserve: number
  readonly #tenantReserve: number
  readonly #tenants = new Map<string, TenantShare>()
  #shares = 0
  #running = 0
  /** Most calls have the same caller as the call before. Two saved lookups are 2 % of a sync call. */
  #last: CallerShare | undefined

  constructor(slots: number, reserve = Math.floor(slots / 8)) {
    this.slots = slots
    this.#reserve = Math.min(reserve, Math.max(0, slots - 1))
    this.#tenantReserve = Math.floor(this.#reserve / TENANTS_PART)
  }

  static from({ slots, reserve, running }: SharesSnapshot): SlotShares {
    const shares = new SlotShares(slots, reserve)
    for (const [tenant, owner, count] of running) {
      const share = shares.#callerOf({ tenant, owner })
      shares.#running += count
      share.of.running += count
      share.running += count
    }
    return shares
  }

  get running(): number {
    return this.#running
  }

  get free(): number {
    return this.slots - this.#running
  }

  admits({ tenant, owner }: SlotOwner): boolean {
    const free = this.slots - this.#running
    if (free > this.#reserve) return true
    if (free <= 0) return false
    const ofTenant = this.#tenants.get(tenant)
    if (!ofTenant || ofTenant.running === 0) return true
    if (free <= this.#tenantReserve && ofTenant.running * 2 >= free) return false
    const own = ofTenant.callers.get(owner)?.running ?? 0
    return own === 0 || own * 2 < free
  }

  take(who: SlotOwner): void {
    const caller = this.#callerOf(who)
    this.#running++
    caller.of.running++
    caller.running++
    if (this.#shares > MAX_IDLE) this.#forgetIdle()
  }

  /** True if a caller that was refused before may be admitted now. */
  give(who: SlotOwner): boolean {
    const caller = this.#callerOf(who)
    const free = this.free
    const opens = free >= 0 && free <= this.#reserve
    this.#running--
    caller.of.running--
    caller.running--
    return opens
  }

  /** True if a caller may skip the queue: it has no queued call and runs almost nothing. */
  mayOvertake({ tenant, owner }: SlotOwner): boolean {
    const caller = this.#tenants.get(tenant)?.callers.get(owner)
    if (!caller) return this.#reserve > 0
    return caller.queued === 0 && caller.running * OVERTAKING_PART < this.#reserve
  }

  queued(who: SlotOwner, calls: 1 | -1): void {
    const caller = this.#callerOf(who)
    caller.queued = Math.max(0, caller.queued + calls)
  }

  /** Counts calls that other processes started. */
  forgetQueued(): void {
    for (const { callers } of this.#tenants.values()) for (const caller of callers.values()) caller.queued = 0
  }

  /** `undefined` without a reserve: every caller may then take every slot. */
  snapshot(): SharesSnapshot | undefined {
    if (this.#reserve === 0) return undefined
    const running: [string, string, number][] = []
    for (const [tenant, { callers }] of this.#tenants) {
      for (const [owner, caller] of callers) if (caller.running > 0) running.push([tenant, owner, caller.running])
    }
    return { slots: this.slots, reserve: this.#reserve, running }
  }

  #tenantOf(tenant: string): TenantShare {
    const known = this.#tenants.get(tenant)
    if (known) return known
    const share = { running: 0, callers: new Map<string, CallerShare>() }
    this.#tenants.set(tenant, share)
    return share
  }

  #callerOf({ tenant, owner }: SlotOwner): CallerShare {
    const last = this.#last
    if (last !== undefined && last.who.owner === owner && last.who.tenant === tenant) return last
    const of = this.#tenantOf(tenant)
    this.#last = of.callers.get(owner) ?? this.#newCaller(of, { tenant, owner })
    return this.#last
  }

  #newCaller(of: TenantShare, who: SlotOwner): CallerShare {
    const share = { who, of, running: 0, queued: 0 }
    of.callers.set(who.owner, share)
    this.#shares++
    return share
  }

  #forgetIdle(): void {
    this.#last = undefined
    for (const [tenant, { callers }] of this.#tenants) {
      for (const [owner, { running, queued }] of callers) {
        if (running > 0 || queued > 0) continue
        callers.delete(owner)
        this.#shares--
      }
      if (callers.size === 0) this.#tenants.delete(tenant)
    }
  }
}
