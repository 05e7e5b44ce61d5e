/** A server with several workers tells the others which of them has ended. They do not wait until it was silent for long. */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idAt } from '../../../src/core/call/id-time.ts'
import type { Instance } from '../../../src/core/call/instance.ts'
import { statesBefore } from '../../../src/core/call/state.ts'
import type { Change, Store } from '../../../src/core/ports/store.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { callOver, SOURCE, serveProcess, temporaryFolder } from '../../cli/processes.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { createSchema, type Schema } from './schemas.ts'

const OPERATION = 'v1:reports.generate@1.0.0'
const LEASE_MS = 600_000
const CLAIM = { operations: [OPERATION], limit: 10, leaseMs: LEASE_MS }

/** One call at a time, and only the first attempt of a call is stuck. */
const OPERATIONS = `
import { appendFileSync } from 'node:fs'
import { operation } from '${SOURCE}'
export const job = operation('v1:job', {
  model: 'async',
  concurrency: 1,
  run: (_args, ctx) => {
    if (ctx.attempt > 1) return { pid: process.pid, attempt: ctx.attempt }
    appendFileSync(process.env.BEGAN, process.pid + '\\n')
    return new Promise(() => {})
  },
})
export const server = { store: STORE, work: { leaseMs: ${LEASE_MS}, claimEveryMs: ${LEASE_MS} } }
`

const ending = ({ id }: Instance, attempt: number): Change => ({
  id,
  from: statesBefore('complete'),
  to: 'complete',
  attempt,
  outcome: { kind: 'result', value: 1 },
  endedAt: 1,
})

/** With an id of this moment, as the engine makes them. */
function callAt(now: number, changes: Partial<Instance>): Instance {
  const id = idAt(now).slice(0, 14) + randomUUID().slice(14)
  return sampleInstance(now, { id, requestId: id, ...changes })
}

/** Two nodes whose clocks stand still until the test advances them. */
async function openTwo(schema: Schema) {
  const clock = createManualClock()
  const options = { clock, serverTime: () => clock.now() }
  const [ended, other] = [await schema.open(options), await schema.open(options)]
  const numbers: number[] = []
  ended.nodeEnds?.tellNumber((node) => numbers.push(node))
  const leased = () => ({ state: 'pending' as const, attempt: 1, dueAt: clock.now() + LEASE_MS })
  return { clock, ended, other, numbers, leased }
}

const idsOf = (instances: readonly Instance[]) => instances.map(({ id }) => id).sort()

describeWith(postgresServer, 'nodes whose processes have ended', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('their calls are due at once: accepted ones, those with a renewed lease, and old ones that they claimed', async () => {
    await using schema = createSchema(server)
    const { clock, ended, other, numbers, leased } = await openTwo(schema)
    const old = callAt(clock.now(), { dueAt: clock.now() })
    await other.accept(old)
    // Beats raise the lowest id that a call without a row in `due` may have. Then the old call keeps its row.
    for (let beats = 0; beats < 12; beats++) await beat(schema, clock)
    const [claimed] = (await ended.claim(CLAIM)).instances
    const renewed = callAt(clock.now(), leased())
    await ended.accept(renewed)
    await ended.extend([{ id: renewed.id, attempt: 1 }], LEASE_MS)
    for (let beats = 0; beats < 12; beats++) await beat(schema, clock)
    const accepted = callAt(clock.now(), leased())
    await ended.accept(accepted)
    const before = await other.claim(CLAIM)

    await other.nodeEnds?.ended(numbers[0] as number)
    const { instances } = await other.claim(CLAIM)

    expect(claimed?.id).toBe(old.id)
    expect(before.instances).toEqual([])
    expect(idsOf(instances)).toEqual(idsOf([old, renewed, accepted]))
    expect(instances.map(({ attempt }) => attempt)).toEqual([2, 2, 2])
    // Safe to call again.
    await other.nodeEnds?.ended(numbers[0] as number)
    expect((await other.claim(CLAIM)).instances).toEqual([])
  }, 30_000)

  test('a call that they accepted and that another node runs is not handed out again', async () => {
    await using schema = createSchema(server)
    const { clock, ended, other, numbers } = await openTwo(schema)
    await ended.accept(callAt(clock.now(), { dueAt: clock.now() }))
    for (let beats = 0; beats < 12; beats++) await beat(schema, clock)
    await ended.accept(callAt(clock.now(), { dueAt: clock.now() }))
    const running = (await other.claim(CLAIM)).instances

    await other.nodeEnds?.ended(numbers[0] as number)

    expect(running).toHaveLength(2)
    expect((await other.claim(CLAIM)).instances).toEqual([])
    for (const call of running) expect(await other.advance(ending(call, 1))).toMatchObject({ applied: true })
  }, 30_000)

  test('their slots are free at once', async () => {
    await using schema = createSchema(server)
    const { ended, other, numbers } = await openTwo(schema)
    const take = (store: Store) => store.peers?.limits.enter(OPERATION, 1, true)
    const kept: string[] = []
    other.peers?.limits.listen({ counted() {}, kept: (operation) => kept.push(operation) })
    const taken = [await take(ended), await take(other)]

    await other.nodeEnds?.ended(numbers[0] as number)

    expect(taken).toEqual([true, false])
    await expect.poll(() => kept, { timeout: 10_000 }).toEqual([OPERATION])
  })

  test('a node that is alive all the same goes on under another number, and its old attempts count no more', async () => {
    await using schema = createSchema(server)
    const { clock, ended: alive, other, numbers, leased } = await openTwo(schema)
    const [lost, kept] = [callAt(clock.now(), leased()), callAt(clock.now(), leased())]
    await alive.accept(lost)
    await alive.accept(kept)

    await other.nodeEnds?.ended(numbers[0] as number)
    await alive.advance(ending(kept, 1))
    const handedOut = (await other.claim(CLAIM)).instances
    const next = callAt(clock.now(), leased())

    expect(idsOf(handedOut)).toEqual([lost.id])
    expect(await alive.advance(ending(lost, 1))).toMatchObject({ applied: false, instance: { attempt: 2 } })
    expect(await alive.extend([{ id: lost.id, attempt: 1 }], LEASE_MS)).toMatchObject([{ held: false }])
    expect(await alive.accept(next)).toEqual({ kind: 'created' })
    expect(numbers).toHaveLength(2)
    expect((await other.claim(CLAIM)).instances).toEqual([])
    await other.nodeEnds?.ended(numbers[1] as number)
    expect((await other.claim(CLAIM)).instances).toMatchObject([{ id: next.id, attempt: 2 }])
  })

  test('when a worker is killed, another one runs its calls', async () => {
    const schema = 'workers'
    const store = JSON.stringify({ url: server.url, schema })
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS.replace('STORE', store) })
    const began = `${folder}/began`
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`, '--workers', '2']
    const { url } = await serveProcess(args, { env: { BEGAN: began } })
    const { body } = await callOver(url, 'v1:job')
    await expect.poll(() => readFile(began, 'utf8').catch(() => ''), { timeout: 20_000 }).not.toBe('')
    const pid = Number(await readFile(began, 'utf8'))

    process.kill(pid, 'SIGSTOP')
    // Without a word from the server, no node would be taken for dead.
    await server.query(`UPDATE ${schema}.nodes SET alive_until = 1e15`)
    process.kill(pid, 'SIGKILL')

    const { result } = await endOf(`${url}/ops/${body.requestId}`)
    expect(result.attempt).toBe(2)
    expect(result.pid).not.toBe(pid)
  }, 60_000)
})

/** A connection to the killed worker fails. The next one goes to another worker. */
async function endOf(url: string): Promise<{ result: { pid: number; attempt: number } }> {
  for (;;) {
    const response = await fetch(url, { headers: { Prefer: 'wait=10' } }).catch(() => undefined)
    const body = (await response?.json()) as { state: string; result: { pid: number; attempt: number } } | undefined
    if (body?.state === 'complete') return body
  }
}

/** Lets the time to the next beats pass, and waits until the nodes have said that they are alive. */
async function beat({ name, server }: Schema, clock: ReturnType<typeof createManualClock>): Promise<void> {
  clock.advance(2_500)
  const isThere = async () => {
    const rows = await server.query<{ alive_until: string }>(`SELECT alive_until FROM ${name}.nodes`)
    return rows.every(({ alive_until }) => Number(alive_until) > clock.now() + 6_000)
  }
  while (!(await isThere())) clock.advance(0)
}
