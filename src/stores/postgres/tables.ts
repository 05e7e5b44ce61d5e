/** The names of the tables, with their schema, and the parts of statements that several of them share. */
import { quoteName } from './sql/migrate.ts'

export interface Tables {
  calls: string
  due: string
  dueCounts: string
  nodes: string
  nodeNumbers: string
  records: string
  audit: string
}

/** Qualified, because a pooler's sessions share their search path. */
export function tablesOf(schema: string): Tables {
  const quoted = quoteName(schema)
  return {
    calls: `${quoted}.calls`,
    due: `${quoted}.due`,
    dueCounts: `${quoted}.due_counts`,
    nodes: `${quoted}.nodes`,
    nodeNumbers: `${quoted}.node_numbers`,
    records: `${quoted}.records`,
    audit: `${quoted}.audit`,
  }
}

const DUE_COLUMNS = 'id, operation, tenant, owner, due_at, expires_at, child, queued'

/** Columns that a changed or accepted call needs besides the ones that are read, for its row in `due`. */
export const dueSource = (table: string): string => `${table}.child, ${table}.held`

/** Inserts or corrects the rows in `due` of calls from an earlier part of the statement. */
export function putDue({ due }: Tables, from: string, where = '', onConflict = CORRECT): string {
  return `INSERT INTO ${due} (${DUE_COLUMNS})
    SELECT id, operation, tenant, owner, due_at, expires_at, child, attempt = 0 AND NOT held FROM ${from} ${where}
    ON CONFLICT (id) DO ${onConflict}`
}

const CORRECT = 'UPDATE SET due_at = excluded.due_at, expires_at = excluded.expires_at, queued = excluded.queued'

/** As an array, because a join with this table, whose size the planner cannot know, made it 20 times slower. */
export function removeDue({ due }: Tables, from: string): string {
  return `DELETE FROM ${due} WHERE id = ANY (ARRAY(SELECT id FROM ${from}))`
}
