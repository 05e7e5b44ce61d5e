/** `callplane doctor` names what is wrong with a database, and what to do. */
import pg, { type Client } from 'pg'
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
    database = await startPostgres({ settings: { fsync: 'on', max_prepared_transactions: '2' } })
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

  test('transactions that stay open keep dead rows, and are named with the statement that ends them', async () => {
    const url = await createDatabase('transactions')
    // The database's clock cannot be set, so these views say that everything began ten minutes earlier.
    await runIn(
      url,
      `CREATE VIEW public.pg_stat_activity AS SELECT pid, state, application_name, backend_type,
         xact_start - interval '10 minutes' AS xact_start FROM pg_catalog.pg_stat_activity WHERE datname = current_database();
       CREATE VIEW public.pg_prepared_xacts AS SELECT gid, prepared - interval '10 minutes' AS prepared
         FROM pg_catalog.pg_prepared_xacts;
       ALTER DATABASE transactions SET search_path = public, pg_catalog`,
    )
    const client = await connect(url, 'forgotten')
    await client.query('BEGIN; SELECT')
    await runIn(url, "BEGIN; CREATE TABLE t (); PREPARE TRANSACTION 'half done'")

    const { code, problems, warnings, found } = await examine(url)
    const [open, prepared] = found.filter(({ about }) => about === 'transactions')
    await client.end()
    await runIn(url, prepared?.advice?.slice('Commit it, or run: '.length, -1) ?? '')

    expect({ code, problems }).toEqual({ code: 0, problems: [] })
    expect(warnings).toEqual(['standby', 'transactions', 'transactions', 'keys'])
    expect(open?.what).toMatch(
      /^Process \d+ \(forgotten\) has had a transaction open for 6\d\d s \(idle in transaction\)/,
    )
    expect(open?.advice).toContain(`SELECT pg_terminate_backend(${/\d+/.exec(open?.what ?? '')?.[0]})`)
    expect((await examine(url)).warnings).toEqual(['standby', 'keys'])
  })

  test('a table with many dead rows is named', async () => {
    const url = await createDatabase('bloat')
    await runIn(
      url,
      `ALTER TABLE callplane.records SET (autovacuum_enabled = false);
       INSERT INTO callplane.records SELECT 'k' || n, 'v' FROM generate_series(1, 50001) AS n;
       DELETE FROM callplane.records`,
    )

    await expect.poll(async () => (await examine(url)).warnings).toContain('bloat')
    const bloat = (await examine(url)).found.find(({ about }) => about === 'bloat')
    await runIn(url, 'VACUUM callplane.records')

    expect(bloat?.what).toBe('records has 50001 dead rows and 0 others.')
    expect(bloat?.advice).toContain('VACUUM callplane.records.')
    await expect.poll(async () => (await examine(url)).warnings).toEqual(['standby', 'keys'])
  }, 30_000)

  test('a standby is a problem, and a slot that a stopped standby left behind is named', async () => {
    await database.query("SELECT pg_create_physical_replication_slot('left_behind')")
    const feedback = { hot_standby_feedback: 'on', wal_receiver_status_interval: '1s' }
    const standby = await startPostgres({
      standbyOf: database.port,
      settings: { primary_slot_name: 'left_behind', max_prepared_transactions: '2', ...feedback },
    })
    const ofStandby = await examine(standby.url)
    const slot = () => database.query('SELECT active, xmin IS NOT NULL AS holds FROM pg_replication_slots')
    await expect.poll(slot, { timeout: 20_000 }).toEqual([{ active: true, holds: true }])
    const before = await examine(database.url)
    await standby[Symbol.asyncDispose]()
    await expect.poll(slot, { timeout: 20_000 }).toEqual([{ active: false, holds: true }])

    const { warnings, found } = await examine(database.url)
    const { advice } = found.find(({ about }) => about === 'replication') ?? {}
    await database.query(/SELECT .*\)/.exec(advice ?? '')?.[0] ?? '')

    expect(ofStandby).toMatchObject({ code: 1, problems: ['database'] })
    expect(ofStandby.found[0]?.what).toMatch(/standby|read-only|primary/i)
    expect(before.warnings).not.toContain('replication')
    expect(warnings).toContain('replication')
    expect((await examine(database.url)).warnings).not.toContain('replication')
  }, 60_000)

  test('a database that cannot be reached is one problem, without the password', async () => {
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

async function connect(url: string, name: string): Promise<Client> {
  const client = new pg.Client({ connectionString: url, application_name: name })
  await client.connect()
  return client
}

async function runIn(url: string, text: string): Promise<void> {
  const client = await connect(url, 'test')
  await client.query(text)
  await client.end()
}
