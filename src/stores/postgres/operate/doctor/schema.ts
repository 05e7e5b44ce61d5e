/**
 * The tables and indexes of the schema against those that the migrations create, and what the user may do. The migrations
 * are run in a schema with another name, in a transaction that is rolled back.
 */
import { randomBytes } from 'node:crypto'
import { type Finding, fine, problem, warning } from '../../../../core/finding.ts'
import { type Session, statement, transaction } from '../../connect/session.ts'
import { applyAll, knownSchema, readMigrations, versionOf } from '../../sql/migrate.ts'
import type { ExamineOptions } from './examine.ts'

const RIGHTS = statement(`SELECT has_database_privilege(current_database(), 'CREATE') AS make,
  coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1), false) AS extend,
  ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind = 'r'
      AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
        AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))) AS refused`)
const INVALID = statement(`SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND NOT (i.indisvalid AND i.indisready)`)
const COLUMNS = statement(`SELECT table_name || '.' || column_name || ' ' || data_type AS part
  FROM information_schema.columns WHERE table_schema = $1`)
const INDEXES = statement('SELECT indexdef AS part FROM pg_indexes WHERE schemaname = $1')
const LOCK_TIMEOUT = statement("SET LOCAL lock_timeout = '10s'")

export async function examineSchema(session: Session, { schema }: ExamineOptions): Promise<readonly Finding[]> {
  const rights = (await session.query<{ make: boolean; extend: boolean; refused: string[] }>(RIGHTS, [schema])).rows[0]
  const { version, needs } = await versionOf(session, schema)
  if (version === 0) {
    if (rights?.make || rights?.extend) return [fine('schema', `The schema ${schema} is created at the first start.`)]
    const advice = `Run: CREATE SCHEMA ${schema} AUTHORIZATION <the user of the server>.`
    return [problem('rights', `The user may not create the schema ${schema}.`, advice)]
  }
  const found: Finding[] = [...versionFindings(version, needs)]
  if (!rights?.extend)
    found.push(
      problem(
        'rights',
        `The user may not create tables in ${schema}.`,
        `Run: GRANT CREATE ON SCHEMA ${schema} TO the user.`,
      ),
    )
  if (rights && rights.refused.length > 0)
    found.push(
      problem(
        'rights',
        `The user may not read and write ${rights.refused.join(', ')}.`,
        `Run: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO the user.`,
      ),
    )
  const { rows: invalid } = await session.query<{ name: string }>(INVALID, [schema])
  for (const { name } of invalid)
    found.push(
      problem(
        'index',
        `The index ${name} is invalid and not used.`,
        `Run: REINDEX INDEX CONCURRENTLY ${schema}.${name}.`,
      ),
    )
  if (rights?.make) found.push(...(await comparePlan(session, schema, version)))
  else
    found.push(
      warning(
        'schema',
        'The user may not create schemas, so indexes were not compared.',
        'Run this as a user who may.',
      ),
    )
  return found.length > 0 ? found : [fine('schema', `The schema ${schema} has version ${version} and all its indexes.`)]
}

function* versionFindings(version: number, needs: number): Iterable<Finding> {
  const known = knownSchema()
  if (needs > known)
    yield problem(
      'schema',
      `The schema needs a program that knows version ${needs}, and this one knows ${known}.`,
      'Use the newer program.',
    )
  if (version < known)
    yield warning(
      'schema',
      `The schema has version ${version}, and this program knows ${known}.`,
      'Run: callplane migrate --apply.',
    )
}

/** Later generations of a table have the same parts under other numbers. */
const unnumbered = (part: string) => part.replaceAll(/_\d+\b/g, '_n')

async function comparePlan(session: Session, schema: string, version: number): Promise<readonly Finding[]> {
  const plan = `callplane_doctor_${randomBytes(6).toString('hex')}`
  const migrations = readMigrations().filter((migration) => migration.version <= version)
  const partsOf = async (name: string) => {
    const read = async (what: typeof COLUMNS) => (await session.query<{ part: string }>(what, [name])).rows
    const parts = [...(await read(COLUMNS)), ...(await read(INDEXES))]
    return new Set(parts.map(({ part }) => unnumbered(part.replaceAll(name, schema))))
  }
  const wanted = await transaction(session, async () => {
    await session.query(LOCK_TIMEOUT)
    await applyAll(session, plan, migrations)
    return { commit: false, value: await partsOf(plan) }
  })
  const actual = await partsOf(schema)
  return [...wanted]
    .filter((part) => !actual.has(part))
    .map((part) => {
      const isIndex = part.startsWith('CREATE ')
      const advice = isIndex
        ? `Run: ${part.replace('INDEX', 'INDEX CONCURRENTLY')}.`
        : 'Restore the schema from a backup.'
      return problem(isIndex ? 'index' : 'schema', `Missing: ${part}.`, advice)
    })
}
