/** A backup that is made while a server runs, restored into another database, and used by a new server. */
import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { operation, type ServerOptions } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAdminToken } from '../../../src/server/open/admin-token.ts'
import { describeWith, POSTGRES_PROGRAMS, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { createGate, startSite, temporaryFolder } from '../../scenarios/server.ts'

const run = promisify(execFile)

describeWith(postgresServer, 'a backup of a Postgres store', () => {
  let database: Postgres

  beforeAll(async () => {
    database = await startPostgres()
  }, 60_000)
  afterAll(() => database[Symbol.asyncDispose]())

  test('has all calls of a running server: a new one reads those that ended and goes on with the others', async () => {
    const gate = createGate<string>()
    const operations = (runs: () => unknown) => [
      operation('v1:quick', { model: 'async', run: () => 'done' }),
      operation('v1:lines', { model: 'async', chunked: { mimeType: 'text/csv' }, run: () => ['a,b\n', 'c,d\n'] }),
      operation('v1:slow', { model: 'async', concurrency: 1, run: (_args, ctx) => runs() ?? `attempt ${ctx.attempt}` }),
      operation('v1:risky', { model: 'async', run: () => 'approved' }),
    ]
    const common: Pick<ServerOptions, 'policy' | 'work'> = {
      policy: { default: 'allow', rules: [{ id: 'risky', effect: 'approve', what: { operation: 'v1:risky' } }] },
      work: { leaseMs: 1_000, claimEveryMs: 100 },
    }
    const before = await startSite({ ...common, operations: operations(() => gate.pass()), store: database.url })
    await before.call('v1:quick', {}, { requestId: 'quick' })
    await before.call('v1:lines', {}, { requestId: 'lines' })
    await Promise.all(['quick', 'lines'].map((id) => before.ended(id)))
    await before.call('v1:slow', {}, { requestId: 'running' })
    await gate.began
    await before.call('v1:slow', {}, { requestId: 'queued' })
    await before.call('v1:risky', {}, { requestId: 'held' })

    const folder = temporaryFolder()
    const dump = join(folder, 'calls.dump')
    const restored = database.url.replace(/\/postgres$/, '/restored')
    await run(join(POSTGRES_PROGRAMS, 'pg_dump'), [
      '--format=custom',
      '--schema=callplane',
      `--file=${dump}`,
      database.url,
    ])
    cpSync(before.data, join(folder, 'data'), { recursive: true })
    await database.query('CREATE DATABASE restored')
    await run(join(POSTGRES_PROGRAMS, 'pg_restore'), ['--no-owner', `--dbname=${restored}`, dump])
    // As if the backup were older: the nodes in it no longer live.
    await run(join(POSTGRES_PROGRAMS, 'psql'), [
      '--quiet',
      '--command=UPDATE callplane.nodes SET alive_until = 0',
      restored,
    ])
    const data = join(folder, 'data')
    const after = await startSite({ ...common, operations: operations(() => undefined), store: restored, data })
    const quick = await after.poll('quick')
    const lines = (await (await after.request('/ops/lines/chunks')).json()) as { data: string; checksum: string }
    const held = await after.poll('held')
    const headers = { Authorization: `Bearer ${findAdminToken(data)}` }
    const listed = await after.call('v1:callplane.approvals.list', {}, {}, { headers })
    const [approval] = (listed.body.result as { approvals: { id: string }[] }).approvals
    await after.call('v1:callplane.approvals.decide', { id: approval?.id, verdict: 'approve' }, {}, { headers })
    const [running, queued, approved] = await Promise.all(['running', 'queued', 'held'].map((id) => after.ended(id)))
    gate.open('at the first server')
    const original = await before.ended('running')

    expect(quick.body).toMatchObject({ state: 'complete', result: 'done' })
    expect(lines).toMatchObject({ data: 'a,b\nc,d\n' })
    expect(held.body.state).toBe('accepted')
    expect(running?.body).toMatchObject({ state: 'complete', result: 'attempt 2' })
    // The first claim may find no slot, because those of the dead server stay taken for some seconds.
    expect(queued?.body).toMatchObject({ state: 'complete', result: expect.stringMatching(/^attempt/) })
    expect(approved?.body).toMatchObject({ state: 'complete', result: 'approved' })
    expect(original.body).toMatchObject({ state: 'complete', result: 'at the first server' })
  }, 60_000)
})
