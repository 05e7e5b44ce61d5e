/** Settings of the database server and of the user's sessions. */
import { type Finding, fine, problem, warning } from '../../../../core/finding.ts'
import { type Session, statement } from '../../connect/session.ts'
import type { ExamineOptions } from './examine.ts'

const NAMES = [
  'server_version_num',
  'server_encoding',
  'default_transaction_isolation',
  'synchronous_commit',
  'fsync',
  'full_page_writes',
  'synchronous_standby_names',
  'statement_timeout',
  'autovacuum',
] as const

type Settings = Readonly<Record<(typeof NAMES)[number], string>>

const READ = statement('SELECT name, setting FROM pg_settings WHERE name = ANY ($1::text[])')
const OLDEST = 150_000
/** The server's own limit for a statement. */
const STATEMENT_MS = 5_000

/** `undefined` if the setting is right. */
type Check = (settings: Settings, isPooled: boolean) => Finding | undefined

const CHECKS: readonly Check[] = [
  ({ server_version_num: version }) =>
    Number(version) < OLDEST
      ? problem(
          'version',
          `Postgres ${Math.floor(Number(version) / 10_000)} is too old.`,
          'Upgrade to Postgres 15 or newer.',
        )
      : undefined,
  ({ server_encoding: encoding }) =>
    encoding === 'UTF8'
      ? undefined
      : problem('encoding', `The database stores text as ${encoding}.`, 'Create a database with ENCODING UTF8.'),
  ({ default_transaction_isolation: isolation }, isPooled) => {
    if (isolation === 'read committed') return undefined
    const what = `default_transaction_isolation is "${isolation}".`
    const advice = "Run: ALTER ROLE … SET default_transaction_isolation = 'read committed'."
    // Without a pooler, the server sets it for its own sessions.
    return isPooled
      ? problem('isolation', what, advice)
      : warning('isolation', `${what} The server overrides it.`, advice)
  },
  ({ synchronous_commit: commit }) =>
    commit === 'off'
      ? problem(
          'commit',
          'synchronous_commit is off, so a crash of Postgres loses acknowledged calls.',
          'Run: ALTER ROLE … SET synchronous_commit = on.',
        )
      : undefined,
  ({ fsync }) =>
    fsync === 'off'
      ? problem(
          'fsync',
          'fsync is off, so a crash of the machine destroys the database.',
          'Set fsync = on, and restart Postgres.',
        )
      : undefined,
  ({ full_page_writes: pages }) =>
    pages === 'off'
      ? warning('pages', 'full_page_writes is off.', 'Set it on, unless the file system writes whole pages at once.')
      : undefined,
  ({ synchronous_standby_names: standbys, synchronous_commit: commit }) => {
    if (standbys === '')
      return warning(
        'standby',
        'synchronous_standby_names is empty. A failover to a standby can lose acknowledged calls.',
        'Set it if the database fails over to a standby.',
      )
    return commit === 'local'
      ? warning('standby', 'synchronous_commit is local, so no standby is waited for.', 'Set synchronous_commit = on.')
      : undefined
  },
  ({ statement_timeout: ms }, isPooled) => {
    const tooShort = Number(ms) > 0 && Number(ms) < STATEMENT_MS
    if (!tooShort && !(isPooled && ms === '0')) return undefined
    const what = ms === '0' ? 'Statements through the pooler have no time limit.' : `statement_timeout is ${ms} ms.`
    return warning('statements', what, "Run: ALTER ROLE … SET statement_timeout = '5s'.")
  },
  ({ autovacuum }) =>
    autovacuum === 'off'
      ? problem('vacuum', 'autovacuum is off, so the tables grow without end.', 'Set autovacuum = on.')
      : undefined,
]

export async function examineSettings(session: Session, { listenUrl }: ExamineOptions): Promise<readonly Finding[]> {
  const { rows } = await session.query<{ name: string; setting: string }>(READ, [[...NAMES]])
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting])) as Settings
  const found = CHECKS.flatMap((check) => check(settings, listenUrl !== undefined) ?? [])
  if (found.length > 0) return found
  return [fine('settings', `Postgres ${settings.server_version_num.slice(0, 2)} has the right settings.`)]
}
