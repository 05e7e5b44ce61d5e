/** Operators see and apply migrations apart from the start of a server. */
import { createServer, operation } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../cli/streams.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { temporaryFolder } from '../../scenarios/server.ts'

const OPERATIONS = [operation('v1:echo', { run: () => null })]

describeWith(postgresServer, 'migrations of a Postgres store', () => {
  let database: Postgres

  beforeAll(async () => {
    database = await startPostgres()
  }, 60_000)
  afterAll(() => database[Symbol.asyncDispose]())

  test('are shown, applied once, and needed by a server that must not apply them itself', async () => {
    const at = ['--store', database.url, '--schema', 'apart']
    const store = { url: database.url, schema: 'apart', migrate: false }
    const start = () => createServer({ operations: OPERATIONS, data: temporaryFolder(), store })

    const before = await runCommand(['migrate', '--check', ...at])
    const refused = await start().catch((thrown: unknown) => thrown)
    const tables = await database.query("SELECT FROM pg_namespace WHERE nspname = 'apart'")
    const applied = await Promise.all([1, 2].map(() => runCommand(['migrate', '--apply', ...at])))
    const after = await runCommand(['migrate', '--check', ...at])
    const server = await start()
    await server.close(0)

    expect(before).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/has version 0\. This program knows version \d/),
    })
    expect(before.stdout).toContain('CREATE TABLE "apart".calls')
    expect(before.stdout).not.toContain('callplane@')
    expect(refused).toMatchObject({
      code: 'STORAGE_OLDER',
      message: expect.stringContaining('callplane migrate --apply'),
    })
    expect(tables).toEqual([])
    expect(applied.map(({ code }) => code)).toEqual([0, 0])
    expect(after).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing is pending.') })
  })

  test('of a newer program make the check fail, and nothing is applied', async () => {
    const at = ['--store', database.url, '--schema', 'newer']
    await runCommand(['migrate', '--apply', ...at])
    await database.query('INSERT INTO newer.migrations VALUES (900, 1, now())')
    const usable = await runCommand(['migrate', '--check', ...at])
    await database.query('INSERT INTO newer.migrations VALUES (901, 900, now())')

    const check = await runCommand(['migrate', '--check', ...at])
    const apply = await runCommand(['migrate', '--apply', ...at])

    expect(usable).toMatchObject({ code: 0, stdout: expect.stringContaining('can use the newer schema') })
    expect(check).toMatchObject({ code: 1, stdout: expect.stringContaining('needs a program that knows version 900') })
    expect(apply).toMatchObject({ code: 1, stderr: expect.stringContaining('start the newer program') })
  })
})
