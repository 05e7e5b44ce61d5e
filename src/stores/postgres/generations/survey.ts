/** All generations with their sizes, for maintenance. */
import { KEPT, type Tables } from '../tables.ts'

export interface Surveyed {
  number: number
  state: 'kept' | 'next' | 'current' | 'closed' | 'emptied'
  openedAt: number
  /** When it got its state. */
  since: number
  /** Of the table of its calls, without indexes. */
  bytes: number
}

/** The columns of `Surveyed`, and others. */
export function surveyOf(tables: Tables, more: string): string {
  const prefix = tables.calls(KEPT).slice(0, -'kept'.length).replaceAll("'", "''")
  return `SELECT number, state, opened_at AS "openedAt", since, coalesce(pg_relation_size(to_regclass(
      '${prefix}' || CASE number WHEN ${KEPT} THEN 'kept' ELSE number::text END)), 0) AS bytes, ${more}
    FROM ${tables.generations}`
}
