/**
 * Passes changes between the processes on one store, through its records: a process where an operator waits says so, and
 * the others then write their changes in small batches. No process writes while no operator waits. Changes can be lost
 * on the way: too many at once, a store that cannot be reached, a process that ends. The feed is told of every loss.
 */
import type { Siblings } from '../../core/ports/peers.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import { BatchReader } from './batch-reader.ts'
import { BatchWriter } from './batch-writer.ts'
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
/** How often a process looks whether an operator waits elsewhere. */
const LOOK_MS = 5_000
/** How often changes are written and read while an operator waits. */
const PASS_MS = 500
/** As long as the feed goes on listening after the last wait. */
const WANTED_MS = 60_000
/** After this, every process has looked whether an operator waits. */
const SETTLED_MS = 2 * LOOK_MS

export class SharedChanges {
  readonly #parts: SharedChangesParts
  readonly #writer: BatchWriter
  readonly #reader: BatchReader
  /** Until when an operator waits here, and here or elsewhere. */
  #wantedHereUntil = Number.NEGATIVE_INFINITY
  #wantedUntil = Number.NEGATIVE_INFINITY
  #saidAt = Number.NEGATIVE_INFINITY
  #settledAt: number | undefined
  #cancel = () => {}
  #stopped = false
  /** Passes follow each other. */
  #underWay: Promise<void> = Promise.resolve()
  readonly #tellOthers: (about: string) => Promise<boolean>

  constructor(parts: SharedChangesParts) {
    this.#parts = parts
    const { feed, clock, siblings } = parts
    this.#writer = new BatchWriter(parts)
    this.#reader = new BatchReader(parts)
    feed.onNoted = (noted) => {
      if (clock.now() < this.#wantedUntil) this.#writer.add(noted)
      else this.#writer.lose()
    }
    feed.onWanted = () => this.#wanted()
    feed.completeUntil = () => this.#reader.completeUntil
    this.#tellOthers = siblings.anyoneElse('changes', () => {
      this.#collect()
      this.#later(PASS_MS)
      return true
    })
  }

  /** Before this process takes calls, so that an operator who waits elsewhere hears of the first one. */
  async start(): Promise<void> {
    await this.#pass()
    this.#later(this.#pauseMs())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#underWay
    await this.#writer.end().catch((err) => this.#parts.log.warn({ err }, 'could not pass the last changes on'))
  }

  #later(ms: number): void {
    this.#cancel()
    if (this.#stopped) return
    this.#cancel = this.#parts.clock.schedule(ms, () => {
      void this.#pass().then(() => this.#later(this.#pauseMs()))
    })
  }

  #pauseMs(): number {
    return this.#parts.clock.now() < Math.max(this.#wantedHereUntil, this.#wantedUntil) ? PASS_MS : LOOK_MS
  }

  #wanted(): Promise<void> | undefined {
    const now = this.#parts.clock.now()
    const isNew = now >= this.#wantedHereUntil
    this.#wantedHereUntil = now + WANTED_MS
    return isNew ? this.#begin() : undefined
  }

  /** Changes from then on are heard. Operators who were told of earlier ones are told to look again. */
  async #begin(): Promise<void> {
    this.#collect()
    await Promise.all([this.#pass(), this.#tellOthers(this.#parts.node)])
    this.#later(PASS_MS)
  }

  /** What happened here before is not known. */
  #collect(): void {
    const { clock, feed } = this.#parts
    if (!feed.isListening || clock.now() >= this.#wantedUntil) this.#writer.lose()
    this.#wantedUntil = clock.now() + WANTED_MS
    feed.listen()
  }

  #pass(): Promise<void> {
    const { log } = this.#parts
    this.#underWay = this.#underWay
      .then(() => this.#writeAndRead())
      .catch((err) => log.warn({ err }, 'could not pass changes on'))
    return this.#underWay
  }

  async #writeAndRead(): Promise<void> {
    const { clock, records, feed } = this.#parts
    const now = clock.now()
    const wantedHere = now < this.#wantedHereUntil
    if (wantedHere && now - this.#saidAt > WANTED_MS / 3) {
      await records.put(WANTED, '', now + WANTED_MS)
      this.#saidAt = now
    }
    if (wantedHere || (await records.get(WANTED)) !== undefined) this.#collect()
    if (now < this.#wantedUntil) await this.#writer.write()
    if (!wantedHere) return this.#reader.rest()
    if (!this.#reader.isReading) this.#settledAt = now + SETTLED_MS
    await this.#reader.read()
    if (this.#settledAt === undefined || now < this.#settledAt) return
    // A process that ended before it looked has told of none of its changes.
    this.#settledAt = undefined
    feed.lose()
  }
}
