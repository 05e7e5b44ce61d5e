/** Reasons why a node should get no calls although its database answers. */
import type { StoreTrouble } from '../../../core/ports/store.ts'
import { type Session, statement } from '../connect/session.ts'
import type { DatabaseClock } from '../nodes/database-clock.ts'
import { quoteName } from '../sql/migrate.ts'

/** A third of the usual lease. A smaller step is made up for soon, and all nodes have it at the same time. */
const JUMPED_MS = 10_000

export async function troublesOf(
  session: Session,
  { schema, known, clock }: { schema: string; known: number; clock: Pick<DatabaseClock, 'aheadOfServerMs'> },
): Promise<readonly StoreTrouble[]> {
  const read = statement(`SELECT max(version) AS version, max(needs) AS needs FROM ${quoteName(schema)}.migrations`)
  const { rows } = await session.query<{ version: number | null; needs: number | null }>(read)
  const [version, needs] = [rows[0]?.version ?? 0, rows[0]?.needs ?? 0]
  return [
    ...(version < known ? (['migrations-pending'] as const) : []),
    ...(needs > known ? (['schema-newer'] as const) : []),
    ...(clock.aheadOfServerMs > JUMPED_MS ? (['clock-jumped'] as const) : []),
  ]
}
