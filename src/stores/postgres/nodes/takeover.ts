/**
 * Takes over the calls of nodes that are gone. Two nodes may do this at once: one of them finds the row of the node. A
 * node is taken for dead when it was silent for long, or a process reports that the node's process has ended.
 */
import type { JsonValue } from '../../../core/json.ts'
import type { Log } from '../../../core/ports/runtime.ts'
import { OPEN } from '../calls/rows.ts'
import { type Decided, type Session, type Statement, statement, transaction } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { decodeText } from '../sql/plain-text.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import type { AboutNode } from './about-node.ts'
import type { FreshCalls } from './fresh-calls.ts'
import type { HeldCalls } from './held-calls.ts'

export interface TakeoverParts {
  tables: Tables
  generations: Generations
  held: HeldCalls
  fresh: FreshCalls
  about: AboutNode
  /** The database's clock. */
  now(): number
  log: Log | undefined
}

interface GoneRow {
  low: string
  about: string
}

/** The calls that a node runs and that are in `due`, as it tells the others. Further ones wait until their leases are over. */
const HELD = 'held'
const MOST_HELD = 500

export class Takeover {
  readonly #parts: TakeoverParts
  readonly #removeSilent
  readonly #removeEnded
  readonly #inherit
  readonly #freeLater
  readonly #freeHeld
  readonly #freeSlots

  constructor(parts: TakeoverParts) {
    this.#parts = parts
    const { tables, held, fresh, about } = parts
    about.tell(HELD, () => {
      const ids = held.ids().filter((id) => !fresh.isFresh(id))
      return ids.length === 0 ? undefined : ids.slice(0, MOST_HELD)
    })
    // Both wait for the accepts that hold the row, so that none of them is missed by the next statement.
    const gone = `DELETE FROM ${tables.nodes} WHERE node = $1`
    this.#removeSilent = statement(`${gone} AND alive_until < $2 RETURNING low, about`)
    this.#removeEnded = statement(`${gone} RETURNING low, about`)
    const columns = 'c.id, c.operation, c.due_at, c.expires_at, c.attempt'
    this.#inherit = perGeneration((generation) =>
      statement(`WITH found AS (
          SELECT ${columns}, ${dueSource('c')} FROM ${tables.calls(generation)} c
          WHERE id >= $2 AND node = $1 AND state IN (${OPEN})
        ) ${putDue(tables, generation, 'found', { onConflict: 'ON CONFLICT (id) DO NOTHING' })}`),
    )
    // A stream may run on another node than the one that its row names. So it waits until its lease is over.
    const free = (which: string) => (generation: number) =>
      statement(`WITH freed AS (
          UPDATE ${tables.calls(generation)} c SET due_at = $3
          WHERE ${which} AND node = $1 AND state IN ('a', 'p') AND attempt > settled AND due_at > $3
          RETURNING ${columns}, ${dueSource('c')}
        ) ${putDue(tables, generation, 'freed')}`)
    this.#freeLater = perGeneration(free('id >= $2'))
    this.#freeHeld = perGeneration(free('id = ANY ($2::uuid[])'))
    this.#freeSlots = statement(`DELETE FROM ${tables.slots} WHERE node = $1 RETURNING operation`)
  }

  /** It may be alive all the same. So its calls are handed out when their leases are over, and not before. */
  ofSilent(session: Session, node: number): Promise<void> {
    const { now, log } = this.#parts
    return transaction(session, async () => {
      const row = await this.#remove(session, this.#removeSilent, [node, now()])
      if (!row) return NOTHING
      const calls = await this.#each(session, this.#inherit, [node, row.low])
      log?.warn({ node, calls }, 'a node is dead; its calls are handed out when their leases are over')
      return DONE
    })
  }

  /** It runs nothing any more. Its calls are due now. Returns the operations of which it had slots, which are free. */
  async ofEnded(session: Session, node: number): Promise<readonly string[]> {
    const { now, log } = this.#parts
    await transaction(session, async () => {
      const row = await this.#remove(session, this.#removeEnded, [node])
      if (!row) return NOTHING
      const at = now()
      const held = encodeArray('uuid', heldOf(row).map(encodeId).sort())
      const freed = await this.#each(session, this.#freeLater, [node, row.low, at])
      const more = await this.#each(session, this.#freeHeld, [node, held, at])
      const inherited = await this.#each(session, this.#inherit, [node, row.low])
      log?.warn({ node, calls: freed + more + inherited }, 'a process of this server has ended; its calls go on')
      return DONE
    })
    const { rows } = await session.query<{ operation: string }>(this.#freeSlots, [node])
    return rows.map(({ operation }) => decodeText(operation))
  }

  async #remove(session: Session, remove: Statement, values: readonly unknown[]): Promise<GoneRow | undefined> {
    const [row] = (await session.query<GoneRow>(remove, values)).rows
    // After the row is gone, the node can accept nothing more. So a list that is read now has all its generations.
    if (row) await this.#parts.generations.refresh(session)
    return row
  }

  async #each(
    session: Session,
    statementIn: (generation: number) => Statement,
    values: readonly unknown[],
  ): Promise<number> {
    let count = 0
    for (const generation of this.#parts.generations.live)
      count += (await session.query(statementIn(generation), values)).count
    return count
  }
}

const NOTHING: Decided<undefined> = { commit: false, value: undefined }
const DONE: Decided<undefined> = { commit: true, value: undefined }

/** Nodes of other versions may have told less. */
function heldOf({ about }: GoneRow): string[] {
  const { [HELD]: ids } = JSON.parse(decodeText(about)) as { [HELD]?: JsonValue }
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
}
