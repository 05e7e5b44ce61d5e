/**
 * Rates of callers over all nodes. A node takes tokens from the shared bucket in advance and gives back what it did not
 * use within 100 ms. A token is so used at most 100 ms after it was taken, and all nodes together let through at most
 * the burst, the rate, and what the rate gives in 0.2 s. Without the database, each node limits rates for itself.
 */
import { hash } from 'node:crypto'
import { type BucketRules, Buckets } from '../../../core/fairness/buckets.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Element, type ElementType, encodeArray } from '../sql/arrays.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import { Rounds } from './rounds.ts'

export interface TokensParts {
  /** The function of the schema, with its name. */
  takeTokens: string
  /** The table, for removing buckets that are full. */
  buckets: string
  writes: Batches
  clock: Pick<Clock, 'schedule' | 'monotonicMs'>
  log: Log | undefined
  /** The database's clock. */
  now(): number
}

/** The tokens of one bucket that this node has. */
interface Purse {
  /** The bucket's key in the table, as a uuid. */
  id: string
  key: string
  rules: BucketRules
  tokens: number
  /** Until when they may be used, on the monotonic clock. */
  usableUntilMs: number
  /** The bucket is empty until then. */
  emptyUntilMs: number
  /** Tokens to give back. */
  backs: number
  waiters: ((waitMs: number) => void)[]
  /** A statement about it is under way. */
  asking: boolean
}

interface TakenRow {
  place: number
  granted: number
  wait_ms: number
}

const HOLD_MS = 100
const TIDY_EVERY_MS = 60_000
const NANOSECONDS = 1_000_000
/** As a 32-bit integer. */
const MAX_CAPACITY = 2 ** 31 - 1
/** Buckets in one statement. */
const MOST = 1_000

export class Tokens {
  readonly #parts: TokensParts
  readonly #take: Statement
  readonly #tidy: Statement
  readonly #purses = new Map<string, Purse>()
  readonly #own = new Map<string, Buckets>()
  readonly #rounds = new Rounds<Purse>(() => this.#exchange())
  #cancelReturn: (() => void) | undefined
  #tidiedMs: number

  constructor(parts: TokensParts) {
    this.#parts = parts
    this.#tidiedMs = parts.clock.monotonicMs()
    this.#take = statement(`SELECT place, granted, wait_ms FROM ${parts.takeTokens}($1, $2::uuid[], $3::integer[],
      $4::bigint[], $5::integer[], $6::integer[], $7::integer[])`)
    this.#tidy = statement(`DELETE FROM ${parts.buckets} WHERE full_at < $1`)
  }

  take(rules: BucketRules, key: string): number | Promise<number> {
    const { writes, clock } = this.#parts
    const purse = this.#purseOf(rules, key)
    const nowMs = clock.monotonicMs()
    if (nowMs < purse.usableUntilMs && purse.tokens > 0) {
      purse.tokens--
      return 0
    }
    if (nowMs < purse.emptyUntilMs) return purse.emptyUntilMs - nowMs
    if (writes.refusal || this.#rounds.ended) return this.#takeOwn(purse)
    return new Promise((resolve) => {
      purse.waiters.push(resolve)
      this.#send(purse)
    })
  }

  /** Gives back all tokens. */
  async end(): Promise<void> {
    const ended = this.#rounds.end()
    this.#cancelReturn?.()
    await ended
    this.#collect(Number.POSITIVE_INFINITY)
    if (this.#rounds.due.size > 0) await this.#exchange()
  }

  #purseOf(rules: BucketRules, key: string): Purse {
    const name = `${rules.capacity} ${rules.msPerToken} ${key}`
    const known = this.#purses.get(name)
    if (known) return known
    const id = hash('sha256', name, 'hex').slice(0, 32)
    const purse = { id, key, rules, tokens: 0, usableUntilMs: 0, emptyUntilMs: 0, backs: 0, waiters: [], asking: false }
    this.#purses.set(name, purse)
    return purse
  }

  #takeOwn({ rules, key }: Purse): number {
    const name = `${rules.capacity} ${rules.msPerToken}`
    const buckets = this.#own.get(name) ?? new Buckets(rules, this.#parts.clock)
    this.#own.set(name, buckets)
    return buckets.take(key)
  }

  #send(purse: Purse): void {
    this.#cancelReturn ??= this.#parts.clock.schedule(HOLD_MS, () => this.#return())
    this.#rounds.send(purse)
  }

  async #exchange(): Promise<void> {
    const { writes, clock, log } = this.#parts
    // In one order on all nodes, so that two of them do not wait for each other.
    const purses = [...this.#rounds.due].slice(0, MOST).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const purse of purses) this.#rounds.due.delete(purse)
    const asked = purses.map((purse) => ({
      purse,
      waiters: purse.waiters.splice(0),
      backs: purse.backs + purse.tokens,
      extra: Math.ceil(Math.max(purse.rules.capacity / 10, HOLD_MS / purse.rules.msPerToken)) - 1,
    }))
    for (const { purse } of asked) {
      purse.tokens = 0
      purse.backs = 0
      purse.asking = true
    }
    const sentMs = clock.monotonicMs()
    try {
      const rows = await alone(writes, 'tokens', (session) => this.#ask(session, asked))
      for (const { place, granted, wait_ms } of rows) {
        const { purse, waiters } = asked[place - 1] as (typeof asked)[number]
        waiters.forEach(
          (resolve, at) => void resolve(at < granted ? 0 : wait_ms + (at - granted) * purse.rules.msPerToken),
        )
        purse.tokens = Math.max(0, granted - waiters.length)
        purse.usableUntilMs = sentMs + HOLD_MS
        purse.emptyUntilMs = granted < waiters.length ? sentMs + wait_ms : 0
      }
    } catch (err) {
      log?.debug({ err }, 'could not take tokens for the rates of callers; this node counts them alone')
      for (const { purse, waiters } of asked) for (const resolve of waiters) resolve(this.#takeOwn(purse))
    }
    for (const { purse } of asked) purse.asking = false
  }

  async #ask(
    session: Session,
    asked: readonly { purse: Purse; waiters: readonly unknown[]; backs: number; extra: number }[],
  ): Promise<readonly TakenRow[]> {
    const array = (type: ElementType, read: (one: (typeof asked)[number]) => Element) =>
      encodeArray(type, asked.map(read))
    const { rows } = await session.query<TakenRow>(this.#take, [
      this.#parts.now(),
      array('uuid', ({ purse }) => purse.id),
      array('int4', ({ purse }) => Math.min(purse.rules.capacity, MAX_CAPACITY)),
      array('int8', ({ purse }) => Math.max(1, Math.round(purse.rules.msPerToken * NANOSECONDS))),
      array('int4', ({ backs }) => backs),
      array('int4', ({ waiters }) => waiters.length),
      array('int4', ({ waiters, extra }) => (waiters.length > 0 ? extra : 0)),
    ])
    return rows
  }

  #return(): void {
    const { clock } = this.#parts
    this.#cancelReturn = undefined
    this.#collect(clock.monotonicMs())
    for (const purse of this.#rounds.due) this.#send(purse)
    if (this.#purses.size > 0) this.#cancelReturn ??= clock.schedule(HOLD_MS, () => this.#return())
    if (clock.monotonicMs() - this.#tidiedMs < TIDY_EVERY_MS) return
    this.#tidiedMs = clock.monotonicMs()
    void this.#removeFull()
  }

  /** Tokens that may no longer be used are given back. A purse without any is forgotten. */
  #collect(nowMs: number): void {
    for (const [name, purse] of this.#purses) {
      if (nowMs >= purse.usableUntilMs && purse.tokens > 0) {
        purse.backs += purse.tokens
        purse.tokens = 0
        this.#rounds.due.add(purse)
      }
      const isUsed = purse.asking || purse.tokens > 0 || purse.waiters.length > 0
      if (!isUsed && nowMs >= purse.emptyUntilMs) this.#purses.delete(name)
    }
  }

  async #removeFull(): Promise<void> {
    const { writes, now, log } = this.#parts
    try {
      await alone(writes, 'buckets', (session) => session.query(this.#tidy, [now() - TIDY_EVERY_MS]))
    } catch (err) {
      log?.debug({ err }, 'could not remove the buckets of callers; trying again')
    }
  }
}
