/**
 * Slots of operations with a concurrency limit, exact for all nodes. The database has how many slots each node holds. A
 * node uses the slots it holds without asking again. It gives them back when others wait, or when it did not need them
 * for a second. Hints tell the others at once, and all of them look every second while they wait, because hints may be
 * lost.
 */
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { SendAgain } from '../connect/failures.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Element, type ElementType, encodeArray } from '../sql/arrays.ts'
import { encodeText } from '../sql/plain-text.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import { Rounds } from './rounds.ts'
import { SlotBook, type SlotReply, type SlotRequest } from './slot-book.ts'

export interface SlotsParts {
  /** The function of the schema, with its name. */
  shareSlots: string
  writes: Batches
  clock: Pick<Clock, 'schedule' | 'monotonicMs'>
  log: Log | undefined
  /** The database's clock. */
  now(): number
  node(): number
  /** A statement found that this node is not among the living ones. */
  missing(session: Session, node: number): Promise<void>
  /** Asks a node to look at the slots of an operation. */
  hint(node: number, operation: string): void
  kept(operation: string): void
}

interface ReplyRow extends SlotReply {
  place: number
  hints: number[]
  alive_until: number
}

interface Sent extends SlotRequest {
  book: SlotBook
  step: number
}

const LOOK_EVERY_MS = 1_000
/** While all its slots are in use, a node repeats what it has at every fifth look, for a database that lost it. */
const REPEAT_EVERY = 5
/** A hint, the other node's statement, and a hint back take about 30 ms. */
const RETURN_MS = 60
const REFUSED_MS = 250
/** A node stops using slots without asking this long before others may take it for dead. */
const MARGIN_MS = 1_000
/** How long the slots of a missing node stay taken. A node that finds itself missing comes back within 2 s. */
const GRACE_MS = 3_000

export class Slots {
  readonly #parts: SlotsParts
  readonly #share: Statement
  readonly #books = new Map<string, SlotBook>()
  readonly #rounds = new Rounds<SlotBook>(() => this.#exchange())
  readonly #looking = new Set<SlotBook>()
  /** The database may have more slots noted for them. */
  readonly #failed = new Set<SlotBook>()
  #steps = 0
  #looks = 0
  #cancelLook: (() => void) | undefined
  /** On the database's clock. */
  #trustedUntil = 0
  /** The number under which the database has this node's slots. */
  #numbered: number | undefined

  constructor(parts: SlotsParts) {
    this.#parts = parts
    this.#share = statement(`SELECT place, granted, contested, elsewhere, hints, alive_until
      FROM ${parts.shareSlots}($1, $2, $3, $4, $5::text[], $6::bigint[], $7::integer[], $8::integer[], $9::integer[],
        $10::boolean[])`)
  }

  enter(operation: string, most: number, waits: boolean): boolean | Promise<boolean> {
    const book = this.#bookOf(operation)
    const { writes, now, node } = this.#parts
    if (now() >= this.#trustedUntil || this.#numbered !== node()) book.distrust()
    if (book.takeIdle(most)) return true
    const fault = writes.refusal
    if (fault) return Promise.reject(fault)
    const taken = book.ask(most, waits)
    this.#send(book)
    return taken
  }

  entered(operation: string): void {
    const book = this.#bookOf(operation)
    if (book.force()) this.#send(book)
  }

  leave(operation: string): void {
    const book = this.#bookOf(operation)
    if (book.leave()) this.#send(book)
    else this.#lookLater()
  }

  /** Another node asks this one to look. */
  heard(operation: string): void {
    const book = this.#books.get(operation)
    if (!book) return
    book.heard()
    this.#send(book)
  }

  /** This node has a new number. */
  renumbered(): void {
    for (const book of this.#books.values()) if (book.isActive) this.#send(book)
  }

  /** Gives back all slots. */
  async end(): Promise<void> {
    const ended = this.#rounds.end()
    this.#cancelLook?.()
    await ended
    for (const book of this.#books.values()) if (book.isActive) this.#rounds.due.add(book)
    for (const book of this.#rounds.due) book.distrust()
    if (this.#rounds.due.size > 0) await this.#exchange()
  }

  #bookOf(operation: string): SlotBook {
    const book = this.#books.get(operation) ?? new SlotBook(operation)
    this.#books.set(operation, book)
    return book
  }

  #send(book: SlotBook): void {
    this.#lookLater()
    this.#rounds.send(book)
  }

  async #exchange(): Promise<void> {
    const { writes, node, log } = this.#parts
    if (this.#numbered !== node()) this.#carryOver()
    // In one order on all nodes, so that two of them do not wait for each other.
    const books = [...this.#rounds.due].sort((a, b) => (a.operation < b.operation ? -1 : 1))
    const looking = new Set(this.#looking)
    this.#rounds.due.clear()
    this.#looking.clear()
    let me = node()
    let sent = this.#prepare(books, looking)
    try {
      const replies = await alone(writes, 'slots', async (session) => {
        // Others took this node for dead. Slots that it did not use may be taken.
        if (me !== node()) {
          me = node()
          for (const book of books) book.distrust()
          sent = this.#prepare(books, looking)
        }
        return this.#ask(session, me, sent)
      })
      for (const reply of replies) this.#take(sent[reply.place - 1] as Sent, reply)
    } catch (err) {
      log?.debug({ err }, 'could not share slots with the other nodes; trying again')
      for (const book of books) {
        book.fail(err)
        this.#failed.add(book)
      }
      this.#lookLater()
    }
  }

  #prepare(books: readonly SlotBook[], looking: ReadonlySet<SlotBook>): Sent[] {
    const nowMs = this.#parts.clock.monotonicMs()
    return books.map((book) => ({ ...book.request(nowMs, looking.has(book)), book, step: ++this.#steps }))
  }

  async #ask(session: Session, me: number, sent: readonly Sent[]): Promise<readonly ReplyRow[]> {
    const { now, missing } = this.#parts
    const array = (type: ElementType, read: (one: Sent) => Element) => encodeArray(type, sent.map(read))
    const { rows } = await session.query<ReplyRow>(this.#share, [
      me,
      this.#numbered === me ? null : (this.#numbered ?? null),
      now(),
      GRACE_MS,
      array('text', ({ book }) => encodeText(book.operation)),
      array('int8', ({ step }) => step),
      array('int4', ({ most }) => most),
      array('int4', ({ has }) => has),
      array('int4', ({ wants }) => wants),
      array('bool', ({ recall }) => recall),
    ])
    if (rows.length === 0) {
      await missing(session, me)
      throw new SendAgain()
    }
    this.#numbered = me
    return rows
  }

  /** All slots of this node have to be noted under its new number. */
  #carryOver(): void {
    for (const book of this.#books.values()) {
      book.distrust()
      if (book.isActive) this.#rounds.due.add(book)
    }
  }

  #take({ book }: Sent, reply: ReplyRow): void {
    const { clock, kept, hint } = this.#parts
    this.#trustedUntil = reply.alive_until - MARGIN_MS
    for (const other of reply.hints) hint(other, book.operation)
    const taken = book.take(reply, clock.monotonicMs())
    if (taken.kept) kept(book.operation)
    if (taken.awaits)
      clock.schedule(RETURN_MS, () => {
        book.giveUp(clock.monotonicMs() + REFUSED_MS)
        // The place in the queue is given up, too.
        this.#send(book)
      })
  }

  #lookLater(): void {
    if (this.#cancelLook || this.#rounds.ended) return
    this.#cancelLook = this.#parts.clock.schedule(LOOK_EVERY_MS, () => {
      this.#cancelLook = undefined
      this.#look()
    })
  }

  #look(): void {
    const repeats = ++this.#looks % REPEAT_EVERY === 0
    let active = false
    for (const book of this.#books.values()) {
      const failed = this.#failed.delete(book)
      if (!book.isActive && !failed) continue
      active = true
      if (!book.waits && !book.isIdle && !repeats && !failed) continue
      book.look()
      this.#looking.add(book)
      this.#send(book)
    }
    if (active) this.#lookLater()
  }
}
