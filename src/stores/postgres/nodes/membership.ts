/**
 * This node among the others on the store: it says that it is alive, follows the database's clock, and looks for nodes
 * that are dead. A node that others took for dead gets a new number.
 */
import { isTerminal } from '../../../core/call/state.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { changeInPlace, type PlaceParts } from '../calls/in-place.ts'
import { decodeCall, OPEN } from '../calls/rows.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { listOfGenerations, perGeneration } from '../generations/generations.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import type { CountedRow } from '../upkeep.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import type { AboutNode } from './about-node.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { FreshCalls } from './fresh-calls.ts'
import type { Takeover } from './takeover.ts'

export interface MembershipParts extends PlaceParts {
  tables: Tables
  writes: Batches
  fresh: FreshCalls
  takeover: Takeover
  about: AboutNode
  clock: Clock
  databaseClock: DatabaseClock
  serverTime: (() => number) | undefined
  /** Rows were written into `due`. */
  dueChanged(): void
  log: Log | undefined
}

const BEAT_EVERY_MS = 2_500
/** A node without a beat for so long is dead. Its calls are handed out when their leases are over, and not before. */
const ALIVE_MS = 8_000

export interface NodeRow {
  node: number
  about: { [fact: string]: JsonValue }
  aliveUntil: number
}

interface BeatRow {
  alive: boolean
  server_now: number
  generations: string | null
  dead: number[] | null
  others: boolean
}

export class Membership {
  readonly #parts: MembershipParts
  readonly #join
  readonly #beat
  readonly #leave
  readonly #register
  readonly #registerUnlocked
  readonly #others
  readonly #list
  #number = 0
  #hasOthers = false
  /** Called with every new number of this node. */
  joined: (node: number) => Promise<void> = async () => {}
  #cancelTimer: (() => void) | undefined
  #underWay: Promise<void> | undefined
  #ended = false

  constructor(parts: MembershipParts) {
    this.#parts = parts
    const { tables } = parts
    const { nodes, nodeNumbers } = tables
    this.#join = statement(`INSERT INTO ${nodes} (node, alive_until, low, counts, about)
      VALUES (nextval('${nodeNumbers}'), $1, $2, '[]', $3) RETURNING node`)
    this.#beat = statement(`WITH beat AS (
        UPDATE ${nodes} SET alive_until = $2, low = $3, counts = $4, about = $6 WHERE node = $1 RETURNING node
      ) SELECT EXISTS (SELECT FROM beat) AS alive,
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS server_now,
        ${listOfGenerations(tables)} AS generations,
        ARRAY(SELECT node FROM ${nodes} WHERE alive_until < $5 AND node <> $1) AS dead,
        EXISTS (SELECT FROM ${nodes} WHERE alive_until >= $5 AND node <> $1) AS others`)
    this.#leave = statement(`DELETE FROM ${nodes} WHERE node = $1`)
    const register = (lock: string) =>
      perGeneration((generation) =>
        statement(`WITH found AS (
          SELECT c.id, c.operation, c.due_at, c.expires_at, c.attempt, ${dueSource('c')}
          FROM ${tables.calls(generation)} c WHERE id = ANY ($1::uuid[]) AND state IN (${OPEN}) ${lock}
        ) ${putDue(tables, generation, 'found')} RETURNING id`),
      )
    this.#register = register('FOR NO KEY UPDATE')
    this.#registerUnlocked = register('FOR NO KEY UPDATE SKIP LOCKED')
    this.#others = statement(`SELECT counts FROM ${nodes} WHERE node <> $1 AND alive_until >= $2`)
    this.#list = statement(`SELECT node, about, alive_until FROM ${nodes} WHERE alive_until >= $1 ORDER BY node`)
  }

  /** Changes when others took this node for dead. */
  get number(): number {
    return this.#number
  }

  /** Other nodes were alive at the last beat. */
  get hasOthers(): boolean {
    return this.#hasOthers
  }

  async start(session: Session): Promise<void> {
    await this.#joinAs(session)
    this.#schedule()
  }

  /** Tells the others that this node is here, and looks for dead ones. Timers and tests call it. */
  async beat(): Promise<void> {
    const { writes, fresh, takeover, about, databaseClock, clock, serverTime, generations } = this.#parts
    const at = databaseClock.now()
    await this.registerAll([...fresh.due(at), ...fresh.doubtful(at)])
    const low = fresh.raiseLow(databaseClock.now())
    const counts = JSON.stringify(fresh.counts(true))
    let dead: number[] = []
    await alone(writes, 'beat', async (session) => {
      const now = databaseClock.now()
      const values = [this.#number, now + ALIVE_MS, low, counts, now, encodeText(about.encode())]
      let row: BeatRow | undefined
      await databaseClock.measure(async () => {
        row = (await session.query<BeatRow>(this.#beat, values)).rows[0]
        return serverTime ? serverTime() : (row?.server_now ?? clock.now())
      })
      dead = row?.dead ?? []
      this.#hasOthers = row?.others ?? false
      if (row && !row.alive) await this.#rejoin(session)
      if (row?.generations !== generations.version) await generations.refresh(session)
    })
    for (const node of dead) await alone(writes, 'inherit', (session) => takeover.ofSilent(session, node))
  }

  /** Writes the rows in `due` of calls that this node accepted. */
  async registerAll(ids: readonly string[]): Promise<void> {
    await this.#registerIn(this.#register, ids)
  }

  /** The same, without waiting for calls that another transaction has locked. These are left as they are. */
  async registerUnlocked(ids: readonly string[]): Promise<void> {
    await this.#registerIn(this.#registerUnlocked, ids)
  }

  async #registerIn(register: (generation: number) => Statement, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const { writes, fresh } = this.#parts
    fresh.registering(ids)
    try {
      const locked = await alone(writes, 'register', (session) => this.#registerOn(session, register, ids), {
        lanes: ids,
      })
      fresh.unregistered(locked)
      const isLocked = new Set(locked)
      fresh.registered(ids.filter((id) => !isLocked.has(id)))
      this.#parts.dueChanged()
    } catch (thrown) {
      fresh.unregistered(ids)
      throw thrown
    }
  }

  /** Returns the open calls that got no row. */
  async #registerOn(
    session: Session,
    register: (generation: number) => Statement,
    ids: readonly string[],
  ): Promise<readonly string[]> {
    const calls = [...ids].sort().map((id) => ({ id }))
    const standing = await changeInPlace(session, this.#parts, calls, async (generation, group) => {
      const list = group.map(({ id }) => encodeId(id))
      const { rows } = await session.query<{ id: string }>(register(generation), [encodeArray('uuid', list)])
      return new Set(rows.map(({ id }) => id))
    })
    return [...standing.values()].filter((row) => !isTerminal(decodeCall(row).state)).map(({ id }) => id)
  }

  /** A statement of this node found that it is not there. Safe to call again. */
  async rejoin(session: Session, number: number): Promise<void> {
    if (number === this.#number) await this.#rejoin(session)
  }

  /** The open calls of all nodes that are not in `due`. Those of the others are as old as their last beat. */
  async freshCounts(session: Session): Promise<readonly CountedRow[]> {
    const { fresh, databaseClock } = this.#parts
    const { rows } = await session.query<{ counts: string }>(this.#others, [this.#number, databaseClock.now()])
    return [...fresh.counts(false), ...rows.flatMap(({ counts }) => JSON.parse(counts) as CountedRow[])]
  }

  /** The living nodes, this one included, with what they last told of themselves. */
  async list(session: Session): Promise<readonly NodeRow[]> {
    const { rows } = await session.query<{ node: number; about: string; alive_until: number }>(this.#list, [
      this.#parts.databaseClock.now(),
    ])
    return rows.map(({ node, about, alive_until }) => ({
      node,
      about: JSON.parse(decodeText(about)) as NodeRow['about'],
      aliveUntil: alive_until,
    }))
  }

  async end(): Promise<void> {
    this.#ended = true
    this.#cancelTimer?.()
    await this.#underWay
    try {
      await this.registerAll(this.#parts.fresh.all())
      await alone(this.#parts.writes, 'leave', (session) => session.query(this.#leave, [this.#number]))
    } catch (err) {
      this.#parts.log?.warn({ err }, 'could not leave the store in order; other nodes take over in some seconds')
    }
  }

  #schedule(): void {
    if (this.#ended) return
    this.#cancelTimer = this.#parts.clock.schedule(BEAT_EVERY_MS, () => {
      this.#underWay = this.beat()
        .catch((err) => this.#parts.log?.debug({ err }, 'could not tell the other nodes that this one is alive'))
        .then(() => this.#schedule())
    })
  }

  async #joinAs(session: Session): Promise<void> {
    const { fresh, about, databaseClock } = this.#parts
    const low = fresh.raiseLow(databaseClock.now())
    const values = [databaseClock.now() + ALIVE_MS, low, encodeText(about.encode())]
    const { rows } = await session.query<{ node: number }>(this.#join, values)
    this.#number = rows[0]?.node ?? 0
    await this.joined(this.#number)
  }

  async #rejoin(session: Session): Promise<void> {
    const { fresh, log } = this.#parts
    const before = this.#number
    await this.#joinAs(session)
    fresh.clear()
    log?.warn({ before, node: this.#number }, 'other nodes took this one for dead; it goes on under a new number')
  }
}
