/**
 * A rolling upgrade: servers of the version with one migration, beside servers of this one, on one database. The earlier
 * version comes from the repository's history.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readMigrations } from '../../src/stores/postgres/sql/migrate.ts'
import { callOver, type Served, serveProcess, temporaryFolder } from '../cli/processes.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The last commit with the migration 0001 alone. */
const EARLIER = 'b80bb5f'

const OPERATIONS = `
import { existsSync } from 'node:fs'
// The library of the version that runs.
const { operation } = await import(new URL('../index.ts', 'file://' + process.argv[1]))
export const add = operation('v1:math.add', { model: 'async', run: ({ a, b }) => a + b })
export const waits = operation('v1:gate.wait', {
  model: 'async',
  async run({ file }, { attempt }) {
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20))
    return { attempt }
  },
})
`

const hasHistory = spawnSync('git', ['cat-file', '-e', `${EARLIER}^{commit}`], { cwd: ROOT }).status === 0

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

describeWith(postgresServer, 'two versions on one database', () => {
  let database: Postgres
  beforeAll(async () => {
    database = await startPostgres()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  /** Skipped in a clone without history, such as a shallow one. */
  test.runIf(hasHistory)("servers of both serve each other's calls, and one takes over from the other", async () => {
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS })
    const tree = checkOut(folder)
    const serve = (options: { tree?: string } = {}) =>
      serveProcess([join(folder, 'operations.mjs'), '--store', database.url, '--data', join(folder, 'data')], options)
    const migrations = () => database.query('SELECT version FROM callplane.migrations ORDER BY version')

    const old = await serve({ tree })
    expect(await migrations()).toEqual([{ version: 1 }])
    const before = await callOver(old.url, 'v1:math.add', { a: 1, b: 2 })
    const open = await callOver(old.url, 'v1:gate.wait', { file: join(folder, 'open') })

    const upgraded = await serve()
    expect(await migrations()).toEqual(readMigrations().map(({ version }) => ({ version })))
    expect(await outcome(upgraded, before)).toMatchObject({ state: 'complete', result: 3 })
    for (const [at, other] of [
      [old, upgraded],
      [upgraded, old],
    ] as const) {
      const call = await callOver(at.url, 'v1:math.add', { a: 20, b: 22 })
      expect(await outcome(other, call)).toMatchObject({ state: 'complete', result: 42 })
    }

    old.kill('SIGTERM')
    await old.ended
    execFileSync('touch', [join(folder, 'open')])
    expect(await outcome(upgraded, open)).toMatchObject({ state: 'complete', result: { attempt: 2 } })

    const again = await serve({ tree })
    expect(await outcome(again, open)).toMatchObject({ state: 'complete', result: { attempt: 2 } })
  })
})

/** The sources of the earlier version, with the packages of this one. */
function checkOut(folder: string): string {
  const tree = join(folder, 'earlier')
  mkdirSync(tree)
  const archive = execFileSync('git', ['archive', EARLIER, 'src', 'package.json'], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', tree], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

async function outcome({ url }: Served, { body }: { body: { requestId: string } }): Promise<unknown> {
  for (;;) {
    const response = await fetch(`${url}/ops/${body.requestId}`, { headers: { Prefer: 'wait=30' } })
    const reply = (await response.json()) as { state: string }
    if (reply.state === 'complete' || reply.state === 'error') return reply
  }
}
