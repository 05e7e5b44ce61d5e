/** A Postgres cluster of its own, in a temporary folder and on a free port, or a standby of another one. */
import { execFile } from 'node:child_process'
import { appendFile, chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { POSTGRES_PROGRAMS } from './engines.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const run = promisify(execFile)

export interface PostgresOptions {
  /** The folder of the programs. Default: Debian's. */
  programs?: string
  /** PEM. The server then also speaks TLS. */
  tls?: { cert: string; key: string }
  /** Lines of `postgresql.conf`, by name. */
  settings?: Readonly<Record<string, string>>
  /** The folder in which it creates its own. Its user must be able to reach it. Default: that of temporary files. */
  parent?: string
  /** Default: one that is free now. */
  port?: number
  /** The port of a primary. The new server is its standby: it copies it, then follows it. */
  standbyOf?: number
}

export interface Postgres extends ServerProcess {
  readonly port: number
  readonly url: string
  /** The data folder. */
  readonly folder: string
  /** Runs a statement as an administrator, on a connection of its own. */
  query<R extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

const USER = 'callplane'

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const { programs = POSTGRES_PROGRAMS, tls, settings = {}, parent = tmpdir(), standbyOf } = options
  const port = options.port ?? (await freePort())
  const folder = await mkdtemp(join(parent, 'callplane-postgres-'))
  const data = join(folder, 'data')
  const asUser = await unprivileged(folder)
  const program = (name: string) => join(programs, name)
  const init = ['--pgdata', data, '--username', USER, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C']
  const copy = ['--host', '127.0.0.1', '--port', String(standbyOf), '--username', USER, '--pgdata', data]
  // Without waiting for the disk: only a crash of the whole machine would lose this folder.
  const [setup = '', ...args] =
    standbyOf === undefined
      ? [...asUser, program('initdb'), ...init, '--no-sync', '--no-instructions']
      : [...asUser, program('pg_basebackup'), ...copy, '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
  await run(setup, args)
  // Once it is promoted, it has no standby yet: commits that wait for one would wait for a person.
  if (standbyOf !== undefined) await appendFile(join(data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n")
  const lines = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    fsync: 'off',
    shared_buffers: '32MB',
    ...(tls && (await writeTls(folder, tls))),
    ...settings,
  }
  const flags = Object.entries(lines).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [...asUser, program('postgres'), '-D', data, ...flags] as [string, ...string[]]
  const server = await startServer({
    command,
    // A standby accepts "read-only connections".
    readyLine: 'database system is ready to accept',
    // Its orderly end waits for clients to leave. This one does not, and writes a checkpoint.
    stopSignal: 'SIGINT',
  })
  const url = `postgres://${USER}@127.0.0.1:${port}/postgres`
  return {
    ...server,
    port,
    url,
    folder: data,
    async query(text, values = []) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => undefined)
      await client.connect()
      try {
        return (await client.query(text, [...values])).rows
      } finally {
        await client.end()
      }
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Both files belong to the user who runs the server, as Postgres demands. */
async function writeTls(folder: string, { cert, key }: { cert: string; key: string }): Promise<Record<string, string>> {
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const { uid, gid } = await stat(folder)
  for (const [file, content] of [[certFile, cert] as const, [keyFile, key] as const]) {
    await writeFile(file, content, { mode: 0o600 })
    await chown(file, uid, gid)
  }
  return { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile }
}

/** Postgres refuses to run as root, so root hands the folder to a user without rights. */
export async function unprivileged(folder: string): Promise<string[]> {
  if (userInfo().uid !== 0) return []
  const { stdout } = await run('id', ['-u', 'nobody'])
  const id = Number(stdout)
  await chown(folder, id, id)
  await chmod(folder, 0o700)
  // A change of the user clears the signal that ties the process to this one.
  return ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--pdeathsig', 'KILL', '--']
}
