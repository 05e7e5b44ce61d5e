/** All generations with their sizes, for maintenance. */
import { type Session, statement } from '../connect/session.ts'
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

export function createSurvey(tables: Tables): (session: Session) => Promise<readonly Surveyed[]> {
  const prefix = tables.calls(KEPT).slice(0, -'kept'.length).replaceAll("'", "''")
  const survey = statement(`SELECT number, state, opened_at AS "openedAt", since, coalesce(pg_relation_size(to_regclass(
      '${prefix}' || CASE number WHEN ${KEPT} THEN 'kept' ELSE number::text END)), 0) AS bytes
    FROM ${tables.generations} ORDER BY number`)
  return async (session) => (await session.query<Surveyed>(survey)).rows
}
