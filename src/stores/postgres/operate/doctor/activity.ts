/** What goes on in the database: connections, old transactions, and dead rows that cannot be removed. */
import { type Finding, fine, problem, warning } from '../../../../core/finding.ts'
import { type Session, statement } from '../../connect/session.ts'
import { quoteName, versionOf } from '../../sql/migrate.ts'
import type { ExamineOptions } from './examine.ts'

/** Connections of a server with the default options. */
const PER_SERVER = 8
const OLD_S = 300
const DEAD_ROWS = 50_000
const HELD_WAL_BYTES = 1_000_000_000

const ROOM = statement(`SELECT current_setting('max_connections')::integer AS most,
  current_setting('superuser_reserved_connections')::integer AS reserved,
  (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS allowed,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::integer AS used`)
const SEES_ALL = statement("SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS all")
const OLD =
  statement(`SELECT pid, state, application_name AS name, extract(epoch FROM now() - xact_start)::integer AS seconds
  FROM pg_stat_activity WHERE xact_start < now() - make_interval(secs => $1) AND pid <> pg_backend_pid()
    AND backend_type = 'client backend' ORDER BY xact_start LIMIT 5`)
const PREPARED = statement(
  `SELECT gid FROM pg_prepared_xacts WHERE prepared < now() - make_interval(secs => $1) LIMIT 5`,
)
const SLOTS = statement(`SELECT slot_name AS name FROM pg_replication_slots
  WHERE NOT active AND (xmin IS NOT NULL OR pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) > $1) LIMIT 5`)
const DEAD = statement(`SELECT relname AS name, n_dead_tup AS dead, n_live_tup AS live FROM pg_stat_user_tables
  WHERE schemaname = $1 AND n_dead_tup > $2 AND n_dead_tup > 2 * n_live_tup ORDER BY n_dead_tup DESC LIMIT 5`)

export async function examineActivity(session: Session, { schema }: ExamineOptions): Promise<readonly Finding[]> {
  const found = [
    ...(await examineRoom(session, schema)),
    ...(await examineHolders(session)),
    ...(await examineDeadRows(session, schema)),
  ]
  return found.length > 0
    ? found
    : [fine('activity', 'No old transaction, no dead rows, and room for more connections.')]
}

async function examineRoom(session: Session, schema: string): Promise<readonly Finding[]> {
  const { rows } = await session.query<{ most: number; reserved: number; allowed: number; used: number }>(ROOM)
  const [{ most, reserved, allowed, used } = { most: 100, reserved: 3, allowed: -1, used: 0 }] = rows
  const room = Math.min(most - reserved, allowed < 0 ? most : allowed)
  const servers = (await versionOf(session, schema)).version === 0 ? 0 : await countServers(session, schema)
  const needed = (servers + 1) * PER_SERVER
  const advice = 'Raise max_connections, use a pooler with listenUrl, or lower store.connections.'
  if (room < PER_SERVER)
    return [
      problem('connections', `The user may have ${room} connections, and one server opens ${PER_SERVER}.`, advice),
    ]
  if (needed > room)
    return [
      warning(
        'connections',
        `${servers} servers run, and one more would need ${needed} of ${room} connections.`,
        advice,
      ),
    ]
  if (used + PER_SERVER > most - reserved)
    return [warning('connections', `${used} of ${most - reserved} connections are in use.`, advice)]
  return []
}

async function countServers(session: Session, schema: string): Promise<number> {
  const count = statement(`SELECT count(*)::integer AS servers FROM ${quoteName(schema)}.nodes`)
  return (await session.query<{ servers: number }>(count)).rows[0]?.servers ?? 0
}

/** Each of these keeps dead rows from being removed. The queue becomes slower with every call. */
async function examineHolders(session: Session): Promise<readonly Finding[]> {
  const found: Finding[] = []
  const isComplete = (await session.query<{ all: boolean }>(SEES_ALL)).rows[0]?.all === true
  if (!isComplete)
    found.push(
      warning(
        'transactions',
        'The user cannot see transactions of others.',
        'Run: GRANT pg_read_all_stats TO the user.',
      ),
    )
  type Old = { pid: number; state: string; name: string; seconds: number }
  for (const { pid, state, name, seconds } of (await session.query<Old>(OLD, [OLD_S])).rows)
    found.push(
      warning(
        'transactions',
        `Process ${pid} (${name || 'without a name'}) has had a transaction open for ${seconds} s (${state}). Dead rows stay meanwhile.`,
        `End it: SELECT pg_terminate_backend(${pid}). Set idle_in_transaction_session_timeout for its user.`,
      ),
    )
  for (const { gid } of (await session.query<{ gid: string }>(PREPARED, [OLD_S])).rows)
    found.push(
      warning(
        'transactions',
        `The prepared transaction ${gid} is old.`,
        `Commit it, or run: ROLLBACK PREPARED '${gid}'.`,
      ),
    )
  for (const { name } of (await session.query<{ name: string }>(SLOTS, [HELD_WAL_BYTES])).rows)
    found.push(
      warning(
        'replication',
        `The replication slot ${name} is not in use and holds rows or WAL back.`,
        `Start its standby, or run: SELECT pg_drop_replication_slot('${name}').`,
      ),
    )
  return found
}

async function examineDeadRows(session: Session, schema: string): Promise<readonly Finding[]> {
  const { rows } = await session.query<{ name: string; dead: number; live: number }>(DEAD, [schema, DEAD_ROWS])
  return rows.map(({ name, dead, live }) =>
    warning(
      'bloat',
      `${name} has ${dead} dead rows and ${live} others.`,
      `Look for old transactions, then run: VACUUM ${schema}.${name}. Give autovacuum more workers if it happens again.`,
    ),
  )
}
