/** PgBouncer in transaction mode: every transaction may get another connection to Postgres. */
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from './engines.ts'
import { freePort } from './free-port.ts'
import { type Postgres, unprivileged } from './postgres.ts'
import { type ServerProcess, startServer } from './server-process.ts'

export interface PgBouncer extends ServerProcess {
  readonly url: string
}

export async function startPgBouncer(server: Postgres): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-pgbouncer-'))
  const asUser = await unprivileged(folder)
  const port = await freePort()
  const { username } = new URL(server.url)
  const users = join(folder, 'users.txt')
  const config = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${server.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    // Fewer than a store opens, so that its connections share them.
    'default_pool_size = 3',
  ]
  const { uid, gid } = await stat(folder)
  for (const [file, content] of [[users, `"${username}" ""\n`] as const, [config, `${lines.join('\n')}\n`] as const]) {
    await writeFile(file, content)
    await chown(file, uid, gid)
  }
  const command = [...asUser, findProgram('pgbouncer') ?? 'pgbouncer', config] as unknown as [string, ...string[]]
  const pooler = await startServer({ command, readyLine: 'process up' })
  return {
    ...pooler,
    url: server.url.replace(`:${server.port}/`, `:${port}/`),
    async [Symbol.asyncDispose]() {
      await pooler[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
