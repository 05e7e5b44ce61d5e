/** The statements that insert accepted calls. `acceptance.ts` sends them. */
import { type Statement, statement } from '../connect/session.ts'
import { type Generations, perList } from '../generations/generations.ts'
import type { KeyFilters } from '../generations/key-filters.ts'
import { agreedGroups, batchSource } from '../sql/batch-columns.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import {
  ALWAYS_COLUMNS,
  type Column,
  type Encoded,
  type InsertKind,
  OPTIONAL_COLUMNS,
  RARE_COLUMNS,
  type UsualColumn,
} from './accepted-columns.ts'
import { OPEN } from './rows.ts'

export interface Insert extends Statement {
  columns: readonly Column[]
  /** The groups of columns that are sent as single values. */
  agreed: number
  /** It inserts nothing if this is not the current one. */
  generation: number
  /** It inserts nothing if this node is taken for dead. */
  fresh: boolean
  waits: boolean
}

export interface Inserts {
  generation: number
  /**
   * Fails as a whole if one of the calls conflicts with another of the same generation. Its count is the number of the
   * inserted calls. It returns no rows, because nearly always all calls are inserted.
   */
  plain: Insert
  /** Leaves out the calls that conflict. Returns the ids of the inserted ones. */
  patient: Insert
}

/**
 * Returns the statements for a batch. Columns in which all its calls have the usual value are not sent, and some others
 * once if all calls have the same value.
 */
export function createInserts(
  tables: Tables,
  generations: Generations,
  kind: InsertKind,
  filters: Pick<KeyFilters, 'rulingOut'>,
) {
  const made = perList(generations, () => new Map<string, Inserts>())
  return (calls: readonly Encoded[]): Inserts => {
    const unusual = unusualIn(calls, kind)
    const agreed = agreedGroups(ALWAYS_COLUMNS, calls)
    const without = filters.rulingOut(calls)
    const key = `${unusual} ${agreed} ${without.join(' ')}`
    const known = made().get(key)
    if (known) return known
    const inserts = insertsOf(tables, generations, kind, { unusual, agreed, without })
    made().set(key, inserts)
    return inserts
  }
}

/** A bit for each group of optional columns. */
function unusualIn(calls: readonly Encoded[], kind: InsertKind): number {
  let unusual = 0
  OPTIONAL_COLUMNS.forEach(({ isUsual }, group) => {
    if (kind === 'rare' || !calls.every((call) => isUsual(call, kind))) unusual |= 1 << group
  })
  return unusual
}

export const currentOf = ({ generations }: Tables) => `SELECT number FROM ${generations} WHERE state = 'current'`

/**
 * The generation takes new calls, and no older one has a row with one of these keys of `u`. `keys` has all values of each
 * as an array, and they are looked up once for the whole statement. The generations of `without` have none of them.
 */
export function isNew(
  tables: Tables,
  { current, live }: Generations,
  keys: Readonly<Record<string, string>>,
  without: readonly number[] = [],
): string {
  const older = live.filter((generation) => generation !== current && !without.includes(generation))
  const absent = Object.entries(keys).map(([key, values]) => {
    const looks = older.map(
      (generation) => `SELECT ${key} FROM ${tables.calls(generation)} WHERE ${key} = ANY (${values})`,
    )
    return `(u.${key} IS NULL OR u.${key} <> ALL (ARRAY(${looks.join(' UNION ALL ')})))`
  })
  return [`(${currentOf(tables)}) = ${current}`, ...absent].join(' AND ')
}

function insertsOf(
  tables: Tables,
  generations: Generations,
  kind: InsertKind,
  { unusual, agreed, without }: { unusual: number; agreed: number; without: readonly number[] },
): Inserts {
  const generation = generations.current
  const fresh = kind === 'fresh' || kind === 'waiting'
  const columns: Column[] = [...ALWAYS_COLUMNS]
  const literals: { name: string; usual: string }[] = []
  OPTIONAL_COLUMNS.forEach((group, at) => {
    if (unusual & (1 << at)) columns.push(...group.columns)
    else literals.push(...group.columns.map((column) => ({ name: column.name, usual: usualIn(column, kind) })))
  })
  if (kind === 'rare') columns.push(...RARE_COLUMNS)
  else literals.push(...RARE_COLUMNS)
  const names = columns.map(({ name }) => name)
  const source = batchSource(columns, agreed)
  const into = [...names, ...literals.map(({ name }) => name), 'node']
  const node = `$${columns.length + 1}::integer`
  const select = [
    ...columns.map(({ name, from = (sent) => sent }) => from(source.valueOf(name))),
    ...literals.map(({ usual }) => usual),
    node,
  ]
  const keys = ['request_key', 'key_hash'].filter((key) => names.includes(key))
  const arrays = Object.fromEntries(keys.map((key) => [key, source.arrayOf(key)]))
  const where = `WHERE ${isNew(tables, generations, arrays, without)}`
  const head = `INSERT INTO ${tables.calls(generation)} AS c (${into.join(', ')}) SELECT ${select.join(', ')}
    FROM ${source.rows}`
  const make = (text: string): Insert => ({
    ...statement(text),
    columns,
    agreed,
    generation,
    fresh,
    waits: kind === 'waiting',
  })
  if (fresh) {
    // The lock keeps others from taking over this node's calls until these are committed, and can be seen.
    const text = `WITH me AS MATERIALIZED (SELECT FROM ${tables.nodes} WHERE node = ${node} FOR KEY SHARE)
      ${head} CROSS JOIN me ${where}`
    return { generation, plain: make(text), patient: make(`${text} ON CONFLICT DO NOTHING RETURNING id`) }
  }
  const returned = `RETURNING c.id, c.operation, c.due_at, c.expires_at, c.attempt, c.state, ${dueSource('c')}`
  const open = { where: `WHERE f.state IN (${OPEN})` }
  const queuedNew = putDue(tables, generation, 'new', { ...open, onConflict: '' })
  const queued = putDue(tables, generation, 'new', open)
  return {
    generation,
    plain: make(`WITH new AS (${head} ${where} ${returned}) ${queuedNew}`),
    patient: make(
      `WITH new AS (${head} ${where} ON CONFLICT DO NOTHING ${returned}), queued AS (${queued}) SELECT id FROM new`,
    ),
  }
}

function usualIn({ usual, fresh = usual, waiting = usual }: UsualColumn, kind: InsertKind): string {
  if (kind === 'fresh') return fresh
  return kind === 'waiting' ? waiting : usual
}
