/**
 * Brings a schema up to this version with the numbered files in `migrations`. Several nodes may start at once: an
 * advisory lock lets one of them do it. Each file must leave the schema usable by the version before it, which may still
 * run on other nodes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { Fault } from '../../../core/fault.ts'
import { type Session, statement, transaction } from '../connect/session.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
/** "CALP" in hex, and the first half of the lock's key. The other half is a hash of the schema's name. */
const LOCK = 0x43414c50

export interface Migration {
  version: number
  /** The oldest version of a program that can use the schema afterwards. In the file: `-- needs: 1`. */
  needs: number
  sql: string
}

export function readMigrations(): readonly Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}\.sql$/.test(name))
    .sort()
    .map((name) => parseMigration(Number(name.slice(0, 4)), readFileSync(new URL(name, FOLDER), 'utf8')))
}

/** The newest schema of this program. */
export function knownSchema(migrations: readonly Migration[] = readMigrations()): number {
  return migrations.at(-1)?.version ?? 0
}

export function parseMigration(version: number, sql: string): Migration {
  return { version, needs: Number(/^-- needs: (\d+)$/m.exec(sql)?.[1] ?? version), sql }
}

/** A name in a statement, quoted. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** For a server that must not change the schema. */
export async function requireMigrated(session: Session, schema: string): Promise<void> {
  const known = knownSchema()
  const found = await versionOf(session, schema)
  requireKnown(schema, found, known)
  if (found.version >= known) return
  throw new Fault(
    'unavailable',
    `The schema ${schema} has version ${found.version}, and this program needs version ${known}. Run "callplane migrate --apply" with the same --store, or start without --no-migrate.`,
    { code: 'STORAGE_OLDER', retryable: false },
  )
}

/** Returns the version that the schema has now. */
export async function migrate(
  session: Session,
  schema: string,
  migrations: readonly Migration[] = readMigrations(),
): Promise<number> {
  const known = knownSchema(migrations)
  const before = await versionOf(session, schema)
  requireKnown(schema, before, known)
  if (before.version >= known) return before.version
  return transaction(session, async () => {
    await session.query(statement("SET LOCAL lock_timeout = '10s'"))
    await session.query(statement('SET LOCAL statement_timeout = 0'))
    await session.query(statement('SELECT pg_advisory_xact_lock($1, hashtext($2))'), [LOCK, schema])
    // Another node may have done it while this one waited for the lock.
    const from = await versionOf(session, schema)
    requireKnown(schema, from, known)
    await apply(session, schema, migrations, from.version)
    return { commit: true, value: Math.max(from.version, known) }
  })
}

/** Creates the schema with all of these migrations, within the caller's transaction. */
export function applyAll(session: Session, schema: string, migrations: readonly Migration[]): Promise<void> {
  return apply(session, schema, migrations, 0)
}

async function apply(session: Session, schema: string, migrations: readonly Migration[], from: number): Promise<void> {
  const quoted = quoteName(schema)
  if (from === 0) {
    // Without the right to create schemas, an existing one will do. So it is only created if it is missing.
    const { rows } = await session.query(statement('SELECT 1 FROM pg_namespace WHERE nspname = $1'), [schema])
    if (rows.length === 0) await session.query(statement(`CREATE SCHEMA ${quoted}`))
    await session.query(
      statement(
        `CREATE TABLE ${quoted}.migrations (version integer PRIMARY KEY, needs integer NOT NULL, applied_at timestamptz NOT NULL)`,
      ),
    )
  }
  for (const { version, needs, sql } of migrations) {
    if (version <= from) continue
    for (const part of splitStatements(sql.replaceAll('{schema}', quoted))) await session.query(statement(part))
    await session.query(statement(`INSERT INTO ${quoted}.migrations VALUES ($1, $2, now())`), [version, needs])
  }
}

export interface SchemaVersion {
  /** 0 if the schema does not exist or is empty. */
  version: number
  needs: number
}

export async function versionOf(session: Session, schema: string): Promise<SchemaVersion> {
  const found = await session.query<{ made: boolean | null; other: boolean }>(
    statement(`SELECT bool_or(c.relname = 'migrations') AS made, count(*) > 0 AS other
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`),
    [schema],
  )
  const [{ made, other } = { made: false, other: false }] = found.rows
  if (!made && other)
    throw new Fault(
      'unavailable',
      `The schema ${schema} has tables of another program. Nothing in it was changed: choose another schema.`,
      { code: 'STORAGE_FOREIGN', retryable: false },
    )
  if (!made) return { version: 0, needs: 0 }
  const { rows } = await session.query<{ version: number | null; needs: number | null }>(
    statement(`SELECT max(version) AS version, max(needs) AS needs FROM ${quoteName(schema)}.migrations`),
  )
  return { version: rows[0]?.version ?? 0, needs: rows[0]?.needs ?? 0 }
}

/** The driver sends one statement at a time. A function's body, between `$$`, has semicolons of its own. */
export function splitStatements(sql: string): string[] {
  const parts: string[] = []
  let current = ''
  let inBody = false
  for (const line of sql.split('\n')) {
    const code = line.replace(/--.*$/, '')
    if (code.trim() === '') continue
    current += `${code}\n`
    for (const _ of code.matchAll(/\$\$/g)) inBody = !inBody
    if (inBody || !code.trimEnd().endsWith(';')) continue
    parts.push(current.trim().replace(/;$/, ''))
    current = ''
  }
  if (current.trim() !== '') throw new TypeError('A migration ends in the middle of a statement.')
  return parts
}

function requireKnown(schema: string, { version, needs }: SchemaVersion, known: number): void {
  if (needs <= known) return
  throw new Fault(
    'unavailable',
    `The schema ${schema} has version ${version}, and this program knows versions up to ${known}. Nothing in it was changed: start the newer program.`,
    { code: 'STORAGE_NEWER', retryable: false },
  )
}
