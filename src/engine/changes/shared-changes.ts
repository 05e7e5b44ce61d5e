/**
 * Passes changes between the processes on one store, through its records: a process where somebody waits says so, and
 * the others then write their changes in small batches. Nobody writes while nobody waits.
 */
import type { Siblings } from '../../core/ports/peers.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import type { Noted } from './change.ts'
import type { ChangeFeed } from './change-feed.ts'

export interface SharedChangesParts {
  clock: Clock
  log: Log
  records: Pick<Records, 'put' | 'get' | 'list'>
  feed: ChangeFeed
  node: string
  /** Messages between the processes. They may be lost, and the records then tell the same a little later. */
  siblings: Pick<Siblings, 'anyoneElse'>
}

const WANTED = 'changes-wanted'
const BATCHES = 'changes/'
/** How often a process looks whether somebody waits elsewhere. */
const LOOK_MS = 5_000
/** How often changes are written and read while somebody waits. */
const PASS_MS = 500
const WANTED_MS = 30_000
const BATCH_MS = 60_000
/** A batch can be written later than its key says. */
const LATE_MS = 5_000
const MOST_IN_BATCH = 1_000
const MOST_BATCHES = 200

export class SharedChanges {
  readonly #parts: SharedChangesParts
  readonly #seen = new Map<string, number>()
  #outbox: Noted[] = []
  /** Until when somebody waits here or elsewhere. */
  #wantedHereUntil = 0
  #wantedUntil = 0
  #saidAt = Number.NEGATIVE_INFINITY
  #cancel = () => {}
  #stopped = false
  #underWay: Promise<void> = Promise.resolve()
  readonly #tellOthers: (about: string) => Promise<boolean>

  constructor(parts: SharedChangesParts) {
    this.#parts = parts
    const { feed, clock } = parts
    feed.onNoted = (noted) => {
      if (clock.now() < this.#wantedUntil && this.#outbox.length < MOST_IN_BATCH) this.#outbox.push(noted)
    }
    feed.onWanted = () => this.#wanted()
    this.#tellOthers = parts.siblings.anyoneElse('changes', () => {
      this.#wantedElsewhere()
      return true
    })
  }

  start(): void {
    this.#later(LOOK_MS)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#underWay
  }

  #later(ms: number): void {
    this.#cancel()
    if (this.#stopped) return
    this.#cancel = this.#parts.clock.schedule(ms, () => {
      this.#underWay = this.#pass().catch((err) => this.#parts.log.warn({ err }, 'could not pass changes on'))
      void this.#underWay.then(() => this.#later(this.#isBusy() ? PASS_MS : LOOK_MS))
    })
  }

  #isBusy(): boolean {
    return this.#parts.clock.now() < Math.max(this.#wantedHereUntil, this.#wantedUntil)
  }

  #wanted(): Promise<void> | undefined {
    const now = this.#parts.clock.now()
    const isNew = now >= this.#wantedHereUntil
    this.#wantedHereUntil = now + WANTED_MS
    if (!isNew) return undefined
    this.#later(0)
    return this.#tellOthers(this.#parts.node).then(() => undefined)
  }

  #wantedElsewhere(): void {
    this.#wantedUntil = this.#parts.clock.now() + WANTED_MS
    this.#parts.feed.listen()
    this.#later(PASS_MS)
  }

  async #pass(): Promise<void> {
    const { clock, records, feed } = this.#parts
    const now = clock.now()
    const wantedHere = now < this.#wantedHereUntil
    if (wantedHere && now - this.#saidAt > WANTED_MS / 3) {
      await records.put(WANTED, '', now + WANTED_MS)
      this.#saidAt = now
    }
    const wanted = wantedHere || (await records.get(WANTED)) !== undefined
    if (wanted) {
      this.#wantedUntil = now + WANTED_MS
      feed.listen()
    }
    await this.#write(now)
    if (wantedHere) await this.#read(now)
  }

  async #write(now: number): Promise<void> {
    if (this.#outbox.length === 0) return
    const batch = this.#outbox
    this.#outbox = []
    const key = `${timeKey(now)}/${this.#parts.node}`
    await this.#parts.records.put(BATCHES + key, JSON.stringify(batch), now + BATCH_MS)
    this.#seen.set(key, now)
  }

  async #read(now: number): Promise<void> {
    const { records, feed } = this.#parts
    let last = BATCHES + timeKey(now - LATE_MS)
    for (;;) {
      const found = await records.list(BATCHES, MOST_BATCHES, last)
      for (const { key, value } of found) {
        last = key
        const name = key.slice(BATCHES.length)
        if (this.#seen.has(name)) continue
        this.#seen.set(name, now)
        for (const noted of JSON.parse(value) as Noted[]) feed.note(noted)
      }
      if (found.length < MOST_BATCHES) break
    }
    for (const [name, at] of this.#seen) if (at < now - 2 * LATE_MS) this.#seen.delete(name)
  }
}

/** In the order of time. */
function timeKey(ms: number): string {
  return Math.max(0, ms).toString().padStart(15, '0')
}
