/** The statements that change calls. `advance.ts` sends them. */
import { encodeEnding } from '../../../core/call/audit-ending.ts'
import { faultIn } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import type { Change } from '../../../core/ports/store.ts'
import { type Statement, statement } from '../connect/session.ts'
import type { Held } from '../nodes/held-calls.ts'
import type { ElementType } from '../sql/arrays.ts'
import { type BatchColumn, batchSource } from '../sql/batch-columns.ts'
import { encodeId } from '../sql/ids.ts'
import { dueSource, KEPT, putDue, removeDue, type Tables } from '../tables.ts'
import { PAST_WITH_SENT } from './past.ts'
import { COLUMN_NAMES, codeIn, columnsOf, letterOf, lettersOf } from './rows.ts'

export interface Marked {
  /** Of the call. */
  readonly id: string
  readonly change: Change
  /** The call as this node knows it, if it runs it. The result is then computed here, and not sent back. */
  readonly held: Held | undefined
  /** When this node began the call that it ends, if its row does not say so yet. */
  readonly begunAt: number | undefined
  /** It has no row in `due`. */
  readonly fresh: boolean
  /** Of the write. The calls of a batch may share it. */
  mark: number
}

export interface Update extends Statement {
  columns: readonly BatchColumn<Marked>[]
}

/** Groups of columns that are often the same in all ends of a batch. */
const WRITE = 0
const TRAIL = 1
/** The combinations of these groups. */
export const AGREEMENTS = 4

/** The columns that a change may set. The statement names only those that it does set. */
const SET: readonly {
  name: string
  type: ElementType
  read(change: Change): string | number | undefined
  /** Default: the value as it was sent. */
  set?: string
  group?: number
}[] = [
  { name: 'due_at', type: 'int8', read: ({ dueAt }) => dueAt },
  { name: 'outcome', type: 'text', read: ({ outcome }) => outcome && JSON.stringify(outcome) },
  { name: 'settled', type: 'int4', read: ({ settled }) => settled },
  { name: 'failures', type: 'int4', read: ({ failures }) => failures },
  { name: 'expires_at', type: 'int8', read: ({ expiresAt }) => expiresAt },
  { name: 'keep_until', type: 'int8', read: ({ keepUntil }) => keepUntil },
  { name: 'ended_at', type: 'int8', read: ({ endedAt }) => endedAt },
  { name: 'audit', type: 'text', group: TRAIL, read: ({ audit }) => audit && encodeEnding(audit) },
  { name: 'extras', type: 'text', read: ({ extras }) => extras && JSON.stringify(extras) },
  { name: 'waiting', type: 'text', read: ({ waiting }) => (waiting == null ? undefined : JSON.stringify(waiting)) },
  { name: 'fault_kind', type: 'text', read: ({ outcome }) => faultIn(outcome)?.kind },
  { name: 'fault_code', type: 'text', read: ({ outcome }) => codeIn(outcome) },
  { name: 'past', type: 'text', set: PAST_WITH_SENT, read: ({ past }) => past && JSON.stringify(past) },
]

/**
 * A bit for each column of `SET`, in its order, and for each flag that makes another statement. Written out, because it
 * runs for every end.
 */
export function columnsIn(change: Change): number {
  return (
    (change.dueAt === undefined ? 0 : 1) |
    (change.outcome === undefined ? 0 : 2) |
    (change.settled === undefined ? 0 : 4) |
    (change.failures === undefined ? 0 : 8) |
    (change.expiresAt === undefined ? 0 : 16) |
    (change.keepUntil === undefined ? 0 : 32) |
    (change.endedAt === undefined ? 0 : 64) |
    (change.audit === undefined ? 0 : 128) |
    (change.extras === undefined ? 0 : 256) |
    (change.waiting == null ? 0 : 512) |
    (change.outcome?.kind === 'fault' ? 1024 | 2048 : 0) |
    (change.past === undefined ? 0 : 4096) |
    (change.attempt === undefined ? 0 : 8192) |
    (change.untold === undefined ? 0 : 16_384) |
    (change.waiting === null ? 32_768 : 0) |
    (change.releaseKey === true ? 65_536 : 0)
  )
}

export interface UpdateTerms {
  /** This node knows the calls that it ends. */
  known: boolean
  fresh: boolean
  /** The rows of the calls do not say yet when this node began them. */
  begun: boolean
  /** The groups of columns that are sent as single values. */
  agreed: number
}

export function updateOf(
  tables: Tables,
  generation: number,
  change: Change,
  { known, fresh, begun, agreed }: UpdateTerms,
): Update {
  const { to, from, attempt, untold, waiting, releaseKey } = change
  const ends = isTerminal(to)
  const columns: BatchColumn<Marked>[] = [
    { name: 'id', type: 'uuid', read: known ? ({ id }) => id : ({ id }) => encodeId(id) },
    { name: 'mark', type: 'int8', group: WRITE, read: ({ mark }) => mark },
  ]
  /** The columns that get the values that were sent for them. */
  const sent = ['mark']
  const set = [`state = '${letterOf(to)}'`, 'revision = c.revision + 1']
  // Every claim raises the revision too, so the revision that this node knows is as good a fence as the attempt.
  const fence = known ? 'revision' : 'attempt'
  if (known)
    columns.push({ name: fence, type: 'int4', group: WRITE, read: ({ held }) => held?.instance.revision ?? null })
  else if (attempt !== undefined)
    columns.push({ name: fence, type: 'int4', read: (marked) => marked.change.attempt as number })
  const wanted = columnsIn(change)
  for (const [at, { name, type, read, set: value, ...group }] of SET.entries()) {
    if (!(wanted & (1 << at))) continue
    columns.push({ name, type, ...group, read: (marked) => read(marked.change) ?? null })
    if (!untold || (name !== 'expires_at' && name !== 'keep_until')) {
      if (value === undefined) sent.push(name)
      else set.push(`${name} = ${value}`)
      continue
    }
    const field = name === 'expires_at' ? 'expiresAt' : 'keepUntil'
    columns.push({ name: `untold_${name}`, type, read: (marked) => marked.change.untold?.[field] ?? null })
    set.push(`${name} = CASE WHEN c.told THEN u.${name} ELSE u.untold_${name} END`)
  }
  if (begun && change.settled === undefined) {
    columns.push({ name: 'begun_at', type: 'int8', read: ({ begunAt }) => begunAt ?? null })
    sent.push('begun_at')
  }
  if (change.dueAt === undefined) set.push('due_at = NULL')
  // The attempt is over, and the next one has a start of its own.
  if (change.settled !== undefined) set.push('begun_at = NULL')
  if (change.extras) {
    columns.push({ name: 'held', type: 'bool', read: (marked) => marked.change.extras?.held === true })
    sent.push('held')
    columns.push({ name: 'unbegun', type: 'bool', read: ({ change }) => hasNotBegun(change) })
  }
  if (waiting === null) set.push('waiting = NULL', 'answer = NULL')
  if (releaseKey) set.push('key_hash = NULL')
  // Only kept calls are swept by time. A value that stays the same leaves the index alone.
  if (generation === KEPT && (ends || change.keepUntil !== undefined))
    set.push(`sweep_at = least(c.sweep_at, ${keepUntilIn(change)})`)
  const source = batchSource(columns, agreed)
  set.push(...sent.map((name) => `${name} = ${source.valueOf(name)}`))
  const fenced = known || attempt !== undefined ? ` AND c.${fence} = ${source.valueOf(fence)}` : ''
  const where = `WHERE c.id = u.id AND c.state IN (${lettersOf(from)})${fenced}`
  const update = `UPDATE ${tables.calls(generation)} c SET ${set.join(', ')} FROM ${source.rows}`
  if (fresh) return { ...statement(`${update} ${where}`), columns }
  // A call that this node has claimed has a row in `due`, so the rows that are removed are as many as the ends.
  if (known) {
    const text = `WITH changed AS (${update} ${where} RETURNING c.id) ${removeDue(tables, 'changed')}`
    return { ...statement(text), columns }
  }
  const unstarted = change.extras ? '(f.attempt = 0 OR f.unbegun)' : 'f.attempt = 0'
  const changed = `${update} JOIN ${tables.callers(generation)} k ON true
    ${where} AND c.mark IS DISTINCT FROM ${source.valueOf('mark')} AND k.hash = c.caller
    RETURNING ${columnsOf(generation)}, ${dueSource('c')}${change.extras ? ', u.unbegun' : ''}`
  const due = ends ? removeDue(tables, 'changed') : putDue(tables, generation, 'changed', { unstarted })
  const text = `WITH changed AS (${changed}), due AS (${due}) SELECT ${COLUMN_NAMES} FROM changed`
  return { ...statement(text), columns }
}

/** Its handler was never started. */
function hasNotBegun({ attempt, extras }: Change): boolean {
  return attempt !== undefined && attempt === extras?.unbegun
}

function keepUntilIn({ keepUntil, untold }: Change): string {
  if (keepUntil === undefined) return 'c.keep_until'
  return untold ? 'CASE WHEN c.told THEN u.keep_until ELSE u.untold_keep_until END' : 'u.keep_until'
}
