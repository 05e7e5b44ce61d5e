/** The slots of one operation on this node: those it has, those in use, and the calls that ask for one. */

interface Entrant {
  waits: boolean
  settle(taken: boolean): void
  fail(thrown: unknown): void
  /** The database was asked for it. */
  asked: boolean
}

/** What the node says to the database. */
export interface SlotRequest {
  most: number
  has: number
  wants: number
  /** Other nodes should give back slots that they do not use. */
  recall: boolean
}

export interface SlotReply {
  granted: number
  /** Other nodes wait for a slot of this operation. */
  contested: boolean
  /** Other nodes have slots of this operation. */
  elsewhere: boolean
}

export class SlotBook {
  readonly operation: string
  #most = 0
  /** Never more than the database has noted for this node, except for calls that run without asking. */
  #held = 0
  #used = 0
  #entrants: Entrant[] = []
  /** The next free slot is for a queued call. */
  #reserves = false
  #contested = false
  /** Changed since the last look. */
  #touched = false
  /** Others were asked for unused slots, and had none. */
  #refusedUntilMs = 0

  constructor(operation: string) {
    this.operation = operation
  }

  /** Takes a slot that the node has and does not use. */
  takeIdle(most: number): boolean {
    this.#most = most
    if (this.#contested || this.#reserves || this.#entrants.length > 0 || this.#held <= this.#used) return false
    this.#use()
    return true
  }

  ask(most: number, waits: boolean): Promise<boolean> {
    this.#most = most
    return new Promise((settle, fail) => this.#entrants.push({ waits, settle, fail, asked: false }))
  }

  /** Counts a call that runs without asking. True if the database has to be told. */
  force(): boolean {
    this.#use()
    return this.#used > this.#held
  }

  /** True if the slot should be given back at once. */
  leave(): boolean {
    this.#used = Math.max(0, this.#used - 1)
    this.#touched = true
    return this.#contested
  }

  /** Another node waits for a slot, or has freed one. */
  heard(): void {
    this.#contested = true
  }

  /** Slots that were not in use may belong to others by now. */
  distrust(): void {
    this.#held = Math.min(this.#held, this.#used)
  }

  get waits(): boolean {
    return this.#reserves || this.#entrants.length > 0
  }

  /** There may be something to tell the database. */
  get isActive(): boolean {
    return this.waits || this.#held > 0 || this.#used > 0
  }

  get isIdle(): boolean {
    return !this.waits && this.#held > this.#used
  }

  /** Slots without a use since the last look are given back by the next request. */
  look(): void {
    if (!this.#touched) this.distrust()
    this.#touched = false
  }

  /** `looks`: it was not asked for by a call. */
  request(nowMs: number, looks: boolean): SlotRequest {
    if (this.#contested) this.distrust()
    this.#held = Math.max(this.#held, this.#used)
    const isNew = this.#entrants.some(({ asked }) => !asked) && nowMs >= this.#refusedUntilMs
    for (const entrant of this.#entrants) entrant.asked = true
    const wanted = this.#entrants.length + (this.#reserves ? 1 : 0)
    const wants = Math.max(0, wanted - (this.#held - this.#used))
    return { most: this.#most, has: this.#held, wants, recall: wants > 0 && (looks || isNew) }
  }

  /** `kept`: a slot is reserved for a queued call. `awaits`: calls wait for slots that others may give back. */
  take({ granted, contested, elsewhere }: SlotReply, nowMs: number): { kept: boolean; awaits: boolean } {
    this.#held += granted
    this.#contested = contested
    const kept = this.#reserves && this.#held > this.#used
    if (kept) {
      this.#reserves = false
      this.#use()
    }
    while (this.#entrants.length > 0 && this.#held > this.#used) {
      this.#use()
      this.#entrants.shift()?.settle(true)
    }
    const refused = this.#entrants.filter(({ asked }) => asked)
    this.#reserves ||= refused.some(({ waits }) => waits)
    const mayReturn = elsewhere && nowMs >= this.#refusedUntilMs
    this.#refuse(({ asked, waits }) => asked && (waits || !mayReturn))
    return { kept, awaits: this.#entrants.some(({ asked }) => asked) }
  }

  /**
   * Those who waited for unused slots of other nodes wait no longer. Then others need not be asked until this time. A
   * request for a queued call may be on its way: its reply decides, and reserves the next slot if there is none.
   */
  giveUp(untilMs: number): void {
    this.#refusedUntilMs = untilMs
    this.#refuse(({ asked, waits }) => asked && !waits)
  }

  fail(thrown: unknown): void {
    const failed = this.#entrants.filter(({ asked }) => asked)
    this.#entrants = this.#entrants.filter(({ asked }) => !asked)
    for (const { fail } of failed) fail(thrown)
  }

  #refuse(fits: (entrant: Entrant) => boolean): void {
    const refused = this.#entrants.filter(fits)
    if (refused.length === 0) return
    this.#entrants = this.#entrants.filter((entrant) => !fits(entrant))
    for (const { settle } of refused) settle(false)
  }

  #use(): void {
    this.#used++
    this.#touched = true
  }
}
