/** The calls of a data folder move to Postgres with their ids, all of them or visibly not. */
import { join } from 'node:path'
import { createServer, Fault, operation, type ServerOptions } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/server/build/environment.ts'
import { findAdminToken } from '../../../src/server/open/admin-token.ts'
import { type MoveOptions, moveStore } from '../../../src/server/operate/move/move.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { runProcess } from '../../cli/processes.ts'
import { runCommand } from '../../cli/streams.ts'
import { describeWith, postgresServer, s3Server } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { REGION } from '../../engines/seaweedfs.ts'
import { useSeaweedFs } from '../../objects/s3/server/bucket.ts'
import { createGate, type Site, startSite, temporaryFolder } from '../../scenarios/server.ts'

const KILL_AT = join(import.meta.dirname, 'kill-at.ts')
const LINES = ['grüße,b\n', 'c,d\n'].map((line) => line.repeat(20))

const operations = (run: (attempt: number) => unknown) => [
  operation('v1:quick', { model: 'async', run: () => 'done' }),
  operation('v1:lines', { model: 'async', chunked: { mimeType: 'text/csv' }, run: () => LINES }),
  operation('v1:slow', { model: 'async', concurrency: 1, run: (_args, ctx) => run(ctx.attempt) }),
  operation('v1:risky', { model: 'async', run: () => 'approved' }),
]

const common: Pick<ServerOptions, 'policy' | 'sizes' | 'work'> = {
  policy: { default: 'allow', rules: [{ id: 'risky', effect: 'approve', what: { operation: 'v1:risky' } }] },
  // In the middle of a character, which belongs to the next chunk then.
  sizes: { chunkBytes: 53 },
  work: { stopGraceMs: 10 },
}

const flaky = operation('v1:flaky', {
  model: 'async',
  retry: { attempts: 3, backoffMs: 1 },
  run: (_args, ctx) => {
    if (ctx.attempt < 3) ctx.fail('DOWN', 'The wire is down.', { retryable: true })
    return 'up'
  },
})

/** A data folder with calls of every kind, and no server. */
async function fillFolder(): Promise<string> {
  const gate = createGate<string>()
  const site = await startSite({ ...common, operations: operations(() => gate.pass()) })
  for (let number = 0; number < 30; number++) await site.call('v1:quick', {}, { requestId: `quick-${number}` })
  await site.call('v1:quick', {}, { requestId: 'keyed', idempotencyKey: 'k' })
  await site.call('v1:quick', {}, { requestId: 'alias', idempotencyKey: 'k' })
  await site.call('v1:lines', {}, { requestId: 'lines' })
  await Promise.all(['keyed', 'lines', 'quick-29'].map((id) => site.ended(id)))
  await site.call('v1:slow', {}, { requestId: 'running' })
  await gate.began
  await site.call('v1:slow', {}, { requestId: 'queued' })
  await site.call('v1:risky', {}, { requestId: 'held' })
  const inUse = await runCommand(['move', '--from', site.data, '--to', 'postgres://127.0.0.1:1/none'])
  expect(inUse).toMatchObject({ code: 1, stderr: expect.stringContaining('in use by another process') })
  await site.close(0)
  await runCommand(['secrets', 'set', 'token', '--data', site.data], { stdin: 'not told to anybody' })
  return site.data
}

describeWith(postgresServer, 'a move to Postgres', () => {
  let database: Postgres

  beforeAll(async () => {
    database = await startPostgres()
  }, 60_000)
  afterAll(() => database[Symbol.asyncDispose]())

  const optionsFor = (from: string, schema: string): MoveOptions => ({
    from,
    to: database.url,
    schema,
    env: {},
    progress() {},
  })

  test('brings open and ended calls, aliases, approvals, secrets and the audit trail, and they go on there', async () => {
    const data = await fillFolder()
    await database.query('CREATE DATABASE moved')
    const url = database.url.replace(/\/postgres$/, '/moved')
    const at = ['--from', data, '--to', url]

    const moved = await runCommand(['move', '--json', ...at])
    const again = await runCommand(['move', ...at])
    const old = await createServer({ ...common, operations: operations(() => 0), data }).catch((thrown) => thrown)
    const site = await startSite({
      ...common,
      operations: operations((attempt) => attempt),
      data,
      store: url,
    })
    const headers = { Authorization: `Bearer ${findAdminToken(data)}` }
    const administer = async (name: string, args: object) =>
      (await site.call(`v1:callplane.${name}`, args, {}, { headers })).body.result as Record<string, { id: string }[]>
    const ended = await Promise.all(['quick-0', 'alias', 'lines'].map((id) => site.poll(id)))
    const repeat = await site.call('v1:quick', {}, { requestId: 'other', idempotencyKey: 'k' })
    const chunks = await (await site.request('/ops/lines/chunks')).json()
    const [approval] = (await administer('approvals.list', {})).approvals ?? []
    await administer('approvals.decide', { id: approval?.id, verdict: 'approve' })
    const open = await Promise.all(['running', 'queued', 'held'].map((id) => site.ended(id)))
    const { entries } = await administer('audit.list', { limit: 200 })
    const secrets = await runCommand(['secrets', 'list', '--data', data, '--store', url])

    expect(JSON.parse(moved.stdout)).toMatchObject({ calls: 35, aliases: 1, auditEntries: 32, objects: 0 })
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('were moved') })
    expect(old).toMatchObject({ code: 'STORAGE_MOVED', message: expect.stringContaining('--store') })
    for (const { body } of ended.slice(0, 2)) expect(body).toMatchObject({ state: 'complete', result: 'done' })
    expect(repeat.body).toMatchObject({ state: 'complete', result: 'done' })
    expect((chunks as { data: string }).data).toBe(LINES.join('').slice(0, 42))
    expect(open.map(({ body }) => body.result)).toEqual([2, 1, 'approved'])
    expect(new Set(entries?.map(({ id }) => id)).size).toBeGreaterThanOrEqual(35)
    expect(secrets.stdout).toBe('token\n')
  }, 60_000)

  test('brings the attempts of calls, dead letters, and what operators did about them', async () => {
    const broken = operation('v1:broken', {
      model: 'async',
      run: () => {
        throw new Fault('upstream', 'The bank is away.', { code: 'BANK_AWAY' })
      },
    })
    const all = { ...common, operations: [flaky, broken] }
    const before = await startSite(all)
    const { data } = before
    const headers = { Authorization: `Bearer ${findAdminToken(data)}` }
    const ask = async (site: Pick<Site, 'call' | 'ended'>, name: string, args: object) => {
      const { body } = await site.call(
        `v1:callplane.${name}`,
        args,
        { idempotencyKey: crypto.randomUUID() },
        { headers },
      )
      const ended = body.state !== 'complete' && !body.error ? (await site.ended(body.requestId, headers)).body : body
      expect(ended.error).toBeUndefined()
      return ended.result as Record<string, unknown>
    }
    /** All calls with their timelines, and the dead letters. */
    const seen = async (site: Pick<Site, 'call' | 'ended'>) => {
      const { calls } = (await ask(site, 'calls.list', { limit: 200 })) as {
        calls: { id: string; operation: string }[]
      }
      const ours = calls.filter(({ operation: name }) => !name.startsWith('v1:callplane.'))
      const details = await Promise.all(ours.map(({ id }) => ask(site, 'calls.get', { id })))
      return { details, dead: await ask(site, 'deadletters.list', {}) }
    }
    for (const id of ['f1', 'b1', 'b2', 'b3']) {
      await before.call(id.startsWith('f') ? 'v1:flaky' : 'v1:broken', {}, { requestId: id })
      await before.ended(id)
    }
    const [first, second] = ((await ask(before, 'deadletters.list', {})) as { calls: { id: string }[] }).calls
    await ask(before, 'deadletters.dismiss', { ids: [first?.id], why: 'known' })
    await ask(before, 'calls.replay', { ids: [second?.id], as: 'owner', why: 'again' })
    await expect.poll(async () => ((await seen(before)).dead.calls as unknown[]).length).toBe(2)
    const here = await seen(before)
    await before.close()

    const moved = await moveStore(optionsFor(data, 'histories'))
    const after = await startSite({ ...all, data, store: { url: database.url, schema: 'histories' } })

    expect(moved.histories).toBeGreaterThan(0)
    expect(await seen(after)).toEqual(here)
    const timelines = here.details.map(({ attempts }) =>
      (attempts as { outcome: string }[]).map(({ outcome }) => outcome),
    )
    expect(timelines).toContainEqual(['failed', 'failed', 'complete'])
  }, 60_000)

  test('is refused if the attempts of a call differ in the target', async () => {
    const site = await startSite({ ...common, operations: [flaky] })
    await site.call('v1:flaky', {}, { requestId: 'f1' })
    await site.ended('f1')
    await site.close()
    const options = optionsFor(site.data, 'attempts')
    const stop = () => {
      throw new Error('interrupted')
    }
    await expect(moveStore({ ...options, progress: stop })).rejects.toThrow('interrupted')
    await database.query(`CREATE FUNCTION attempts.forget() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN NEW.past = NULL; RETURN NEW; END $$`)
    await database.query(`CREATE TRIGGER forget BEFORE UPDATE ON attempts.calls_1
      FOR EACH ROW EXECUTE FUNCTION attempts.forget()`)

    await expect(moveStore(options)).rejects.toMatchObject({ code: 'MOVE_DIFFERS' })
    await database.query('DROP FUNCTION attempts.forget() CASCADE')
    expect((await moveStore(options)).histories).toBe(1)
  }, 60_000)

  test('that is interrupted keeps servers away, and is finished by the next one', async () => {
    const data = await fillFolder()
    const options = optionsFor(data, 'halves')
    const store = { url: database.url, schema: 'halves' }
    const interrupted = moveStore({
      ...options,
      progress: (what) => {
        if (what === 'records') throw new Error('interrupted')
      },
    })

    await expect(interrupted).rejects.toThrow('interrupted')
    const half = await createServer({ ...common, operations: operations(() => 0), data, store }).catch(
      (thrown) => thrown,
    )
    const moved = await moveStore(options)
    const site = await startSite({ ...common, operations: operations((attempt) => attempt), data, store })

    expect(half).toMatchObject({ code: 'STORAGE_MOVED', message: expect.stringContaining('callplane move') })
    expect(moved).toMatchObject({ calls: 35, aliases: 1 })
    expect((await site.ended('running')).body).toMatchObject({ state: 'complete', result: 2 })
  }, 60_000)

  test('that is killed again and again ends right, wherever it was', async () => {
    const data = await fillFolder()
    const at = ['--json', '--from', data, '--to', database.url, '--schema', 'killed']
    const store = { url: database.url, schema: 'killed' }
    const starting = () => createServer({ ...common, operations: operations(() => 0), data, store })
    const moveUntil = (statements: number) =>
      runProcess(['move', ...at], { env: { NODE_OPTIONS: `--import ${KILL_AT}`, KILL_AT: String(statements) } })
    const refusals: string[] = []

    // The schema is made first, with many statements.
    const early = [await moveUntil(20), await moveUntil(60)]
    let last = await moveUntil(6)
    for (let statements = 8; last.code === null; statements += 5) {
      // Before the mark is written, the target is an empty schema, which a server may use.
      if (await hasMark('killed')) refusals.push(await starting().then(String, ({ code }) => code))
      last = await moveUntil(statements)
    }
    const again = await runCommand(['move', ...at])
    const site = await startSite({ ...common, operations: operations((attempt) => attempt), data, store })

    expect(early.map(({ code }) => code)).toEqual([null, null])
    expect(refusals.length).toBeGreaterThan(3)
    expect(new Set(refusals)).toEqual(new Set(['STORAGE_MOVED']))
    if (last.code === 0) expect(JSON.parse(last.stdout)).toMatchObject({ calls: 35, aliases: 1, auditEntries: 32 })
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('were moved') })
    expect((await site.ended('running')).body).toMatchObject({ state: 'complete', result: 2 })
    expect((await site.poll('alias')).body).toMatchObject({ state: 'complete', result: 'done' })
  }, 120_000)

  async function hasMark(schema: string): Promise<boolean> {
    const [table] = await database.query(`SELECT to_regclass('${schema}.records') AS name`)
    if (table?.name === null) return false
    return (await database.query(`SELECT FROM ${schema}.records WHERE key = 'moving'`)).length > 0
  }

  test('is refused if a record expires at another time in the target', async () => {
    const data = await fillFolder()
    const options = optionsFor(data, 'expiring')
    const progress = async (what: string) => {
      if (what !== 'audit entries' || moving.changed) return
      moving.changed = true
      moving.change = database.query('UPDATE expiring.records SET expires_at = expires_at + 1 WHERE expires_at > 0')
    }
    const moving: { changed: boolean; change?: Promise<unknown> } = { changed: false }

    await expect(moveStore({ ...options, progress })).rejects.toMatchObject({ code: 'MOVE_DIFFERS' })
    await moving.change
    expect((await moveStore(options)).records).toBeGreaterThan(0)
  }, 60_000)

  test('is refused if the target has changed since it was interrupted', async () => {
    const data = await fillFolder()
    const options = optionsFor(data, 'changed')
    const stop = (what: string) => {
      if (what === 'records') throw new Error('interrupted')
    }
    await expect(moveStore({ ...options, progress: stop })).rejects.toThrow('interrupted')
    const target = await openPostgresStore({ url: database.url, schema: 'changed', clock: systemClock })
    await target.claim({ operations: ['v1:slow@1.0.0'], limit: 1, leaseMs: 1_000 })
    await target.close()

    await expect(moveStore(options)).rejects.toMatchObject({
      code: 'MOVE_DIFFERS',
      message: expect.stringContaining('Some calls, records or audit entries differ'),
    })
  }, 60_000)

  test('a folder without a database and a target in use are refused', async () => {
    const empty = await moveStore(optionsFor(temporaryFolder(), 'none')).catch((thrown) => thrown)
    const data = await fillFolder()
    await startSite({ operations: operations(() => 0), store: { url: database.url, schema: 'busy' } })
    const busy = await moveStore(optionsFor(data, 'busy')).catch((thrown) => thrown)

    expect(empty).toMatchObject({ kind: 'not-found' })
    expect(busy).toMatchObject({ code: 'TARGET_IN_USE' })
  }, 60_000)

  describeWith(s3Server, 'with a bucket', () => {
    const s3 = useSeaweedFs()

    test('also brings the objects, chunk by chunk', async () => {
      const data = await fillFolder()
      const { endpoint, credentials } = s3.server
      const bucket = await s3.server.createBucket()
      const objects = `s3://${bucket}/objects?region=${REGION}&endpoint=${encodeURIComponent(endpoint)}`
      const env = {
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      }
      const options = { ...optionsFor(data, 'bucket'), objects, env }

      const moved = await moveStore(options)
      const site = await startSite({
        ...common,
        operations: operations((attempt) => attempt),
        store: { url: database.url, schema: 'bucket' },
        objects: { url: objects, credentials },
      })
      const chunk = (await (await site.request('/ops/lines/chunks')).json()) as { data: string }

      expect(moved.objects).toBe(1)
      expect(chunk.data).toBe(LINES.join('').slice(0, 42))
    }, 60_000)
  })
})
