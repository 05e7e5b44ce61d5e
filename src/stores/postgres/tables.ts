/** The names of the tables, with their schema, and the parts of statements that several of them share. */
import { quoteName } from './sql/migrate.ts'

/** The generation of calls that outlived theirs. Only there calls are removed one by one at any size. */
export const KEPT = 0

export interface Tables {
  /** Of one generation. */
  calls(generation: number): string
  callers(generation: number): string
  callsShape: string
  callersShape: string
  generations: string
  due: string
  dueCounts: string
  nodes: string
  nodeNumbers: string
  slots: string
  records: string
  audit: string
}

/** Qualified, because a pooler's sessions share their search path. */
export function tablesOf(schema: string): Tables {
  const quoted = quoteName(schema)
  const suffix = (generation: number) => (generation === KEPT ? 'kept' : String(generation))
  return {
    calls: (generation) => `${quoted}.calls_${suffix(generation)}`,
    callers: (generation) => `${quoted}.callers_${suffix(generation)}`,
    callsShape: `${quoted}.calls_shape`,
    callersShape: `${quoted}.callers_shape`,
    generations: `${quoted}.generations`,
    due: `${quoted}.due`,
    dueCounts: `${quoted}.due_counts`,
    nodes: `${quoted}.nodes`,
    nodeNumbers: `${quoted}.node_numbers`,
    slots: `${quoted}.slots`,
    records: `${quoted}.records`,
    audit: `${quoted}.audit`,
  }
}

/** Columns that a changed or accepted call needs besides the ones that are read, for its row in `due`. */
export const dueSource = (table: string): string => `${table}.child, ${table}.held, ${table}.caller AS caller_hash`

/** Inserts or corrects the rows in `due` of calls from an earlier part of the statement, all of one generation. */
export function putDue(
  tables: Tables,
  generation: number,
  from: string,
  { where = '', onConflict = CORRECT, unstarted = 'f.attempt = 0' }: PutDue = {},
): string {
  return `INSERT INTO ${tables.due} (id, generation, operation, tenant, owner, due_at, expires_at, child, queued)
    SELECT f.id, ${generation}, f.operation, w.tenant, w.owner, f.due_at, f.expires_at, f.child,
      ${unstarted} AND NOT f.held
    FROM ${from} f JOIN ${tables.callers(generation)} w ON w.hash = f.caller_hash ${where}
    ${onConflict}`
}

interface PutDue {
  where?: string
  /** Default: the row is corrected. Without any, which takes 3 µs less, the calls must be new. */
  onConflict?: string
  unstarted?: string
}

const CORRECT = `ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, due_at = excluded.due_at,
  expires_at = excluded.expires_at, queued = excluded.queued`

/** As an array, because a join with this table, whose size the planner cannot know, made it 20 times slower. */
export function removeDue({ due }: Tables, from: string): string {
  return `DELETE FROM ${due} WHERE id = ANY (ARRAY(SELECT id FROM ${from}))`
}
