/** Takes the request id from a call that ended before it began, for the call that repeats it. */
import type { Instance } from '../../../core/call/instance.ts'
import { SendAgain } from '../connect/failures.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import { decodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import { requestKey } from './keys.ts'
import type { CallReads } from './reads.ts'
import type { CallRow } from './rows.ts'

export interface YieldedIdParts {
  tables: Tables
  generations: Generations
  reads: CallReads
}

export class YieldedIds {
  readonly #parts: YieldedIdParts
  readonly #vacateCall: (generation: number) => Statement
  readonly #vacateAlias: (generation: number) => Statement

  constructor(parts: YieldedIdParts) {
    this.#parts = parts
    const { tables } = parts
    // The new request id contains the instance id, so no caller can have chosen it. An entry keeps the id it was made for.
    this.#vacateCall = perGeneration((generation) =>
      statement(`UPDATE ${tables.calls(generation)} SET request_key = $3, request_id = 'yielded:' || id,
        revision = revision + 1,
        audit = CASE WHEN audit IS NOT NULL THEN left(audit, -1) || CASE audit WHEN '{}' THEN '' ELSE ',' END || $4 || '}' END
      WHERE id = $1 AND request_key = $2`),
    )
    this.#vacateAlias = perGeneration((generation) =>
      statement(`DELETE FROM ${tables.calls(generation)} WHERE request_key = $2 AND alias_of = $1`),
    )
  }

  /** Within the transaction that accepts the other call. `over` is the id of the call that gives its request id up. */
  async vacate(session: Session, key: string, instance: Instance, over: string): Promise<void> {
    const { tenant, owner, requestId } = instance
    const { reads, generations } = this.#parts
    const yielded = requestKey(tenant, owner, `yielded:${over}`)
    const entry = `"requestId":${JSON.stringify(requestId)}`
    const standing = (await reads.rows(session, [over])).get(over)
    if (!standing) return
    const { count } = await session.query(this.#vacateCall(standing.generation), [over, key, yielded, entry])
    // It has the request id, and was not there: it moved to another generation since it was read.
    if (count === 0 && requestKeyOf(standing) === key) throw new SendAgain()
    for (const generation of generations.live) await session.query(this.#vacateAlias(generation), [over, key])
  }
}

function requestKeyOf({ tenant, owner, request_id }: CallRow): string {
  return requestKey(decodeText(tenant), decodeText(owner), decodeText(request_id))
}
