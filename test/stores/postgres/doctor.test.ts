/** `callplane doctor` names what is wrong with a database, and what to do. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Finding } from '../../../src/core/finding.ts'
import { runCommand } from '../../cli/streams.ts'
import { describeWith, pooler, postgresServer } from '../../engines/engines.ts'
import { startPgBouncer } from '../../engines/pgbouncer.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { temporaryFolder } from '../../scenarios/server.ts'

describeWith(postgresServer, 'the doctor of a Postgres store', () => {
  let database: Postgres

  beforeAll(async () => {
    database = await startPostgres({ settings: { fsync: 'on' } })
  }, 60_000)
  afterAll(() => database[Symbol.asyncDispose]())

  async function examine(url: string, ...flags: string[]) {
    const args = ['doctor', '--json', '--store', url, '--data', temporaryFolder(), ...flags]
    const { code, stdout } = await runCommand(args)
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Finding)
    const named = (level: Finding['level']) => found.filter((one) => one.level === level).map(({ about }) => about)
    return { code, found, problems: named('problem'), warnings: named('warning'), stdout }
  }

  /** A database of its own, with the store's tables. Statements run in it. */
  async function createDatabase(name: string, options = '') {
    await database.query(`CREATE DATABASE ${name} ${options}`)
    const url = database.url.replace(/\/postgres$/, `/${name}`)
    await runCommand(['migrate', '--apply', '--store', url])
    return url
  }

  test('a usual database has no problem, and a warning that there is no synchronous standby', async () => {
    const empty = await examine(database.url)
    const made = await examine(await createDatabase('usual'))

    for (const { code, problems, warnings } of [empty, made]) {
      expect({ code, problems }).toEqual({ code: 0, problems: [] })
      expect(warnings).toEqual(['standby', 'keys'])
    }
    expect(made.found).toContainEqual({ level: 'fine', about: 'notifications', what: 'Notifications arrive.' })
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname LIKE 'callplane_doctor%'")).toEqual([])
  })

  test('settings that lose calls are problems', async () => {
    const url = await createDatabase('settings')
    await database.query('ALTER DATABASE settings SET synchronous_commit = off')
    await database.query("ALTER DATABASE settings SET default_transaction_isolation = 'serializable'")
    await database.query("ALTER DATABASE settings SET statement_timeout = '900ms'")

    const { code, problems, warnings } = await examine(url)

    expect({ code, problems }).toEqual({ code: 1, problems: ['commit'] })
    expect(warnings).toEqual(['isolation', 'standby', 'statements', 'keys'])
  })

  test('a server that does not wait for the disk is a problem', async () => {
    await using unsafe = await startPostgres({ settings: { fsync: 'off' } })

    expect((await examine(unsafe.url)).problems).toEqual(['fsync'])
  })

  test('text that is not UTF-8 is a problem', async () => {
    const url = await createDatabase('ascii', "ENCODING 'SQL_ASCII' TEMPLATE template0")

    expect((await examine(url)).problems).toEqual(['encoding'])
  })

  test('a missing and an invalid index are named with the statement that repairs them', async () => {
    const url = await createDatabase('indexes')
    const inDatabase = (text: string) => runIn(url, text)
    await inDatabase('DROP INDEX callplane.records_expiry')
    await inDatabase("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'callplane.due_expiry'::regclass")

    const { problems, found } = await examine(url)

    expect(problems).toEqual(['index', 'index'])
    const [invalid, missing] = found.filter(({ level }) => level === 'problem')
    expect(invalid).toMatchObject({ advice: 'Run: REINDEX INDEX CONCURRENTLY callplane.due_expiry.' })
    expect(missing?.advice).toMatch(/^Run: CREATE INDEX CONCURRENTLY records_expiry ON callplane\.records/)
    await inDatabase(missing?.advice?.slice('Run: '.length, -1) ?? '')
    expect((await examine(url)).problems).toEqual(['index'])
  })

  test('rights that a server needs are named, and so is a schema of another version', async () => {
    const url = await createDatabase('rights')
    await runIn(
      url,
      'CREATE ROLE weak LOGIN CONNECTION LIMIT 5; GRANT USAGE ON SCHEMA callplane TO weak; GRANT SELECT ON ALL TABLES IN SCHEMA callplane TO weak',
    )
    await runIn(url, 'INSERT INTO callplane.migrations VALUES (900, 900, now())')

    const { code, problems, found } = await examine(url.replace('callplane@', 'weak@'))

    expect(code).toBe(1)
    expect(problems).toEqual(['schema', 'rights', 'rights', 'connections'])
    expect(found.map(({ what }) => what).join('\n')).toContain('may not read and write')
  })

  test('a database that cannot be reached or that is a standby is one problem, without the password', async () => {
    const { code, problems, stdout } = await examine('postgres://callplane:secret@127.0.0.1:1/calls')

    expect({ code, problems }).toEqual({ code: 1, problems: ['database'] })
    expect(stdout).not.toContain('secret')
  })

  describeWith(pooler, 'behind a pooler', () => {
    test('the direct address is missed, and accepted when it is given', async () => {
      await using bouncer = await startPgBouncer(database)

      const without = await examine(bouncer.url)
      const given = await examine(bouncer.url, '--listen-url', database.url)
      const wrong = await examine(database.url, '--listen-url', bouncer.url)

      expect(without).toMatchObject({ code: 1, problems: ['notifications'] })
      expect(without.found.find(({ about }) => about === 'notifications')?.advice).toContain('--listen-url')
      expect(given).toMatchObject({ code: 0, problems: [], warnings: ['standby', 'statements', 'keys'] })
      expect(wrong.problems).toEqual(['notifications'])
    })
  })
})

async function runIn(url: string, text: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text)
  await client.end()
}
