/** Limits hold for all servers on one Postgres together. */
import { type HandlerContext, operation } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callOver, SOURCE, serveProcess, temporaryFolder as writeFolder } from '../cli/processes.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { createGate, type Site } from '../scenarios/server.ts'
import { startNodes, WORK as work } from './sites.ts'

type Pair = [Site, Site]

describeWith(postgresServer, 'limits of servers on one Postgres', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  // No server looks for due calls by itself for ten minutes, so each call starts by a freed slot or a hint.
  test('an operation that may run twice at a time runs twice on all servers together, and each call runs as its first attempt', async () => {
    let [running, most] = [0, 0]
    const attempts: number[] = []
    const press = operation('v1:press.print', {
      model: 'async',
      concurrency: 2,
      async run(_args, { attempt }: HandlerContext) {
        attempts.push(attempt)
        most = Math.max(most, ++running)
        await postgres.query('SELECT')
        running--
      },
    })
    const options = { operations: [press], work, limits: { pollBurst: 1_000 } }
    const sites = await startNodes(postgres, { options, count: 3 })

    const ids = Array.from({ length: 30 }, (_, n) => `p${n}`)
    await Promise.all(ids.map((requestId, n) => sites[n % 3]?.call('v1:press.print', {}, { requestId })))
    const ends = await Promise.all(ids.map((id, n) => sites[(n + 1) % 3]?.ended(id)))

    expect(ends.every((end) => end?.body.state === 'complete')).toBe(true)
    expect(attempts).toEqual(ids.map(() => 1))
    expect(most).toBe(2)
  }, 60_000)

  test('calls that wait at one server start when another server frees the only slot', async () => {
    const gate = createGate<number>()
    const press = operation('v1:press.print', {
      model: 'async',
      concurrency: 1,
      run: (_args, { requestId, attempt }: HandlerContext) => (requestId === 'holds' ? gate.pass() : attempt),
    })
    const [here, there] = (await startNodes(postgres, { options: { operations: [press], work } })) as Pair
    await here.call('v1:press.print', {}, { requestId: 'holds' })
    await gate.began
    for (const requestId of ['w1', 'w2']) await there.call('v1:press.print', {}, { requestId })
    const waiting = await here.request('/ops/w1')

    gate.open(0)
    const ends = [await here.ended('w1'), await here.ended('w2')]

    expect(waiting.status).toBe(202)
    expect(ends.map((end) => end.body.result)).toEqual([1, 1])
  }, 60_000)

  test('a sync call is refused while the other server runs one, and taken after', async () => {
    const gate = createGate<number>()
    const press = operation('v1:press.print', { concurrency: 1, run: () => gate.pass() })
    const [here, there] = (await startNodes(postgres, { options: { operations: [press], work } })) as Pair
    const first = here.call('v1:press.print')
    await gate.began

    const refused = await there.call('v1:press.print')
    gate.open(1)
    await first

    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'PANIC_BUSY' } } })
    await expect.poll(async () => (await there.call('v1:press.print')).body.result).toBe(1)
  }, 60_000)

  test('the rate of a caller is one for all servers', async () => {
    const ping = operation('v1:ping', { run: () => 'pong' })
    const limits = { callsPerSecond: 0.01, callBurst: 6 }
    const [here, there] = (await startNodes(postgres, { options: { operations: [ping], work, limits } })) as Pair

    const statuses: number[] = []
    for (let n = 0; n < 8; n++) statuses.push((await (n % 2 ? here : there).call('v1:ping')).status)

    expect(statuses.filter((status) => status === 200)).toHaveLength(6)
    expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  }, 60_000)

  test('open calls of a caller are known to the other server a moment later', async () => {
    const gate = createGate<number>()
    const slow = operation('v1:jobs.slow', { model: 'async', run: () => gate.pass() })
    const limits = { openCallsPerCaller: 2 }
    const [here, there] = (await startNodes(postgres, { options: { operations: [slow], work, limits } })) as Pair
    for (const requestId of ['a', 'b']) await here.call('v1:jobs.slow', {}, { requestId })

    const known = async () => /^callplane_open_calls (\d+)$/m.exec(await (await there.request('/metrics')).text())?.[1]

    await expect.poll(known, { timeout: 10_000 }).toBe('2')
    expect((await there.call('v1:jobs.slow')).body.error?.code).toBe('PANIC_TOO_MANY_OPEN_CALLS')
    gate.open(1)
  }, 60_000)

  test('a call without a free slot at one server runs at the other', async () => {
    const gate = createGate<number>()
    const slow = operation('v1:jobs.slow', {
      model: 'async',
      run: (_args, ctx: HandlerContext) => (ctx.requestId === 'r1' ? gate.pass() : 2),
    })
    const options = { operations: [slow], work, limits: { runningCalls: 1 } }
    const [here] = (await startNodes(postgres, { options })) as Pair
    await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
    await gate.began

    await here.call('v1:jobs.slow', {}, { requestId: 'r2' })

    expect((await here.ended('r2')).body.result).toBe(2)
    gate.open(1)
  }, 60_000)

  test('workers of one server open the database themselves, and count with other servers', async () => {
    const folder = await writeFolder({
      'operations.mjs': `
import { operation } from '${SOURCE}'
export const one = operation('v1:one', { concurrency: 1, run: (_args, ctx) => new Promise((resolve) => ctx.signal.addEventListener('abort', resolve)) })
export const server = { limits: { callsPerSecond: 0.01, callBurst: 5, slotWaitMs: 0 } }
`,
    })
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`, '--store', postgres.url]
    const [workers, single] = [await serveProcess([...args, '--workers', '2']), await serveProcess(args)]
    const stopping = new AbortController()
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ op: 'v1:one' })

    const running = fetch(`${workers.url}/call`, { method: 'POST', headers, body, signal: stopping.signal })
    const held = () => postgres.query('SELECT held FROM callplane.slots WHERE held > 0')
    await expect.poll(held, { timeout: 20_000 }).toEqual([{ held: 1 }])
    const others = [await callOver(single.url, 'v1:one'), await callOver(workers.url, 'v1:one')]
    others.push(await callOver(workers.url, 'v1:one'), await callOver(single.url, 'v1:one'))
    others.push(await callOver(single.url, 'v1:one'), await callOver(workers.url, 'v1:one'))
    stopping.abort()
    await running.catch(() => undefined)

    expect(others.map(({ status }) => status)).toEqual([503, 503, 503, 503, 429, 429])
  }, 60_000)
})
