/**
 * Debian's Postgres with full durability. Debian builds it with -O2; the one from npm is built with -Os and makes 0.8 of
 * its rate. So the build is named beside each figure.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../free-port.ts'
import { cpuUsOf } from './cpu-time.ts'
import { type Engine, type Missing, startProgram } from './engine.ts'
import { postgresUrl } from './postgres.ts'

const VERSIONS = '/usr/lib/postgresql'
const USER = 'postgres'

/**
 * Enough connections for the pools of several contenders, and no checkpoint in the middle of a round: after one, each
 * first change of a page writes the whole page to the log, and the round that has it is not comparable.
 */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '512MB',
  max_wal_size: '16GB',
  checkpoint_timeout: '1h',
  fsync: 'on',
  synchronous_commit: 'on',
}

export interface PostgresServer extends Engine {
  /** Version, packager and optimization: `15.18 (Debian, -O2)`. */
  readonly build: string
  url(database: string): string
  /** On a connection of its own. */
  query<R extends object>(database: string, text: string, values?: readonly unknown[]): Promise<R[]>
  /** Bytes written to the log since the cluster was created. */
  walBytes(): Promise<number>
}

export async function startDebianPostgres(
  databases: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer | Missing> {
  const programs = newestPrograms()
  if (!programs) return { missing: 'there is no Postgres of Debian: "npm run engines" installs it' }
  const outer = mkdtempSync(join(tmpdir(), 'callplane-bench-postgres-'))
  const asUser = handOver(outer)
  const data = join(outer, 'data')
  const port = await freePort()
  const [first = '', ...rest] = [...asUser, join(programs, 'initdb'), '-D', data, '-U', USER, '-A', 'trust']
  execFileSync(first, [...rest, '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'])
  const flags = Object.entries({ ...SETTINGS, port: String(port), ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const [program = '', ...args] = [...asUser, join(programs, 'postgres'), '-D', data, ...flags]
  const child = await startProgram(program, args, port)

  async function query<R extends object>(database: string, text: string, values: readonly unknown[] = []) {
    const client = new pg.Client({ connectionString: postgresUrl(port, database) })
    await client.connect()
    try {
      return (await client.query<R>(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

  async function stop(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      // Does not wait for clients to leave.
      child.kill('SIGINT')
      await exited
    }
    rmSync(outer, { recursive: true, force: true })
  }

  try {
    await untilReady(() => query('postgres', 'SELECT'))
    for (const database of databases) await query('postgres', `CREATE DATABASE "${database}"`)
    const build = await buildOf((text) => query('postgres', text))
    return {
      name: 'postgres',
      port,
      build,
      url: (database) => postgresUrl(port, database),
      query,
      async walBytes() {
        const text = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes"
        return (await query<{ bytes: number }>('postgres', text))[0]?.bytes ?? Number.NaN
      },
      cpuUs: () => cpuUsOf(child.pid ?? 0),
      stop,
    }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

export function isPostgresMissing(server: PostgresServer | Missing): server is Missing {
  return 'missing' in server
}

function newestPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined
  const newest = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))[0]
  const programs = newest === undefined ? undefined : join(VERSIONS, newest, 'bin')
  return programs && existsSync(join(programs, 'postgres')) ? programs : undefined
}

/** Postgres refuses to run as root, so root hands the folder to a user without rights. Returns the prefix of commands. */
function handOver(folder: string): string[] {
  if (process.getuid?.() !== 0) return []
  const id = Number(execFileSync('id', ['-u', 'nobody']).toString())
  chownSync(folder, id, id)
  chmodSync(folder, 0o700)
  return ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--pdeathsig', 'KILL', '--']
}

/** The port answers a little before the server accepts logins. */
async function untilReady(login: () => Promise<unknown>): Promise<void> {
  const giveUpAt = performance.now() + 10_000
  for (;;) {
    try {
      await login()
      return
    } catch (thrown) {
      if (performance.now() > giveUpAt) throw thrown
    }
  }
}

async function buildOf(query: (text: string) => Promise<object[]>): Promise<string> {
  const [shown] = (await query('SHOW server_version')) as { server_version: string }[]
  const [made] = (await query(`SELECT setting FROM pg_config WHERE name = 'CFLAGS'`)) as { setting: string }[]
  const version = shown?.server_version.split(' ')[0] ?? 'unknown'
  const optimization = made?.setting.split(' ').findLast((flag) => flag.startsWith('-O')) ?? 'unknown optimization'
  return `Postgres ${version} (Debian, ${optimization})`
}
