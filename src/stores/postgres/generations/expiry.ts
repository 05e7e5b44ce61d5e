/**
 * One round of removing calls past their retention: one by one where there are few, and by the generation where there
 * are many. Rotations happen here too. The leader of the maintenance does it.
 */
import type { Log } from '../../../core/ports/runtime.ts'
import type { Audit } from '../audit.ts'
import type { CallReads } from '../calls/reads.ts'
import { troubleOf } from '../connect/failures.ts'
import type { Session } from '../connect/session.ts'
import type { Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import type { Generations } from './generations.ts'
import { createRetirement } from './retirement.ts'
import { createRotation, type RotationRules } from './rotation.ts'
import { createSample } from './sample.ts'
import { createSweep } from './sweep.ts'

export interface ExpiryParts {
  tables: Tables
  generations: Generations
  reads: CallReads
  writes: Pick<Batches, 'add'>
  audit: Pick<Audit, 'archive'>
  rules: RotationRules
  now(): number
  log: Log | undefined
}

type RemoveObjects = (ids: readonly string[]) => Promise<void>

/**
 * Calls in a slice of a generation that is being retired. The server takes 20 µs for each, and other calls wait for it.
 * With slices of 250, the p99 of 1,000 calls a second doubled meanwhile.
 */
const SLICE = 20
/**
 * Slices until all generations are looked at again. With a look before each slice, removing a call took 1.7 times the
 * CPU time.
 */
const SLICES_BETWEEN_LOOKS = 50

export function createExpiry({ tables, generations, reads, writes, audit, rules, now, log }: ExpiryParts) {
  const sample = createSample(tables)
  const { smallBytes } = rules
  const sweep = createSweep({ tables, generations, reads, audit, smallBytes, now })
  const rotation = createRotation({ tables, generations, sample, rules, now })
  const retirement = createRetirement({ tables, generations, audit, sample, smallBytes, now })
  const run = <T>(key: string, work: (session: Session) => Promise<T>) => alone(writes, key, work)

  /** These steps wait for locks only briefly, and the next round tries again. */
  async function unlessLocked(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      if (troubleOf(thrown) !== 'passing') throw thrown
      log?.debug({ err: thrown }, `could not ${what} now; the next round of maintenance tries again`)
    }
  }

  async function look(session: Session, limit: number) {
    const seen = await sweep.look(session, limit)
    const current = seen.surveyed.find(({ state }) => state === 'current')
    if (current && (await rotation.isDue(session, current, seen.surveyed.length)))
      await unlessLocked('open the next generation', () => rotation.rotate(session, current.number))
    await unlessLocked('drop a generation', () => retirement.dropEmptied(session, seen.surveyed))
    return seen
  }

  async function sweepAll(ids: readonly string[], removeObjects: RemoveObjects): Promise<void> {
    await removeObjects(ids)
    await alone(writes, 'expire', (session) => sweep.remove(session, ids), { lanes: ids })
  }

  /** Reads the next slice of the generation that is being retired. */
  async function retireSome(limit: number, removeObjects: RemoveObjects): Promise<number> {
    const slice = await run('retire', (session) => retirement.archive(session, SLICE))
    const stored = slice.rows.filter((row) => row.over && row.stored).map(({ id }) => id)
    if (stored.length > 0) await removeObjects(stored)
    const isLast = slice.calls < SLICE
    await run('retire', (session) => unlessLocked('empty a generation', () => retirement.take(session, slice, isLast)))
    // As many as were asked for, so that the caller goes on with the next slice.
    return isLast ? slice.calls - slice.rows.filter((row) => !row.over).length : limit
  }

  /** One at a time: the reading of a generation goes on where the last call stopped. */
  let last: Promise<unknown> = Promise.resolve()
  let slicesUntilLook = 0

  async function expire(limit: number, removeObjects: RemoveObjects): Promise<number> {
    const slices = slicesUntilLook
    // After a slice that fails or is the last one, all generations are looked at.
    slicesUntilLook = 0
    if (slices > 0 && retirement.isUnderWay) return retireNext(slices, limit, removeObjects)
    const { surveyed, ids } = await run('look', (session) => look(session, limit))
    if (ids.length > 0) await sweepAll(ids, removeObjects)
    if (ids.length >= limit) return ids.length
    const closed = surveyed.filter(({ state }) => state === 'closed')
    if (closed.length === 0 || !(await run('retire', (session) => retirement.begin(session, closed)))) return ids.length
    return ids.length + (await retireNext(SLICES_BETWEEN_LOOKS, limit, removeObjects))
  }

  async function retireNext(slices: number, limit: number, removeObjects: RemoveObjects): Promise<number> {
    const removed = await retireSome(limit, removeObjects)
    if (removed >= limit) slicesUntilLook = slices - 1
    return removed
  }

  return {
    expire(limit: number, removeObjects: RemoveObjects): Promise<number> {
      const next = last.then(() => expire(limit, removeObjects))
      last = next.catch(() => undefined)
      return next
    },
  }
}
