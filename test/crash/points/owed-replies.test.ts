/**
 * A server ends after each single write, publication and acknowledgement of a call that came through a broker. The caller, who
 * has only the broker, still gets the end of its call.
 */
import { expect, test } from 'vitest'
import type { OperationDefinition } from '../../../src/core/operation/operation.ts'
import { jsonSchema, operation } from '../../../src/index.ts'
import { openCluster } from '../../engine/node.ts'
import { Death } from './death.ts'
import { type BrokerRequest, live, MemoryBroker } from './memory-broker.ts'

interface Story {
  name: string
  requests: readonly BrokerRequest[]
}

const call = (op: string, requestId = 'r1', place = 'first', idempotencyKey?: string): BrokerRequest => ({
  envelope: { op, ctx: { requestId, ...(idempotencyKey !== undefined && { idempotencyKey }) } },
  place,
})

const STORIES: readonly Story[] = [
  { name: 'an async call', requests: [call('v1:plant.make')] },
  { name: 'a sync call that ends at once', requests: [call('v1:plant.cut')] },
  { name: 'a sync call that takes a second', requests: [call('v1:plant.glue')] },
  { name: 'a sync call that outlasts its caller', requests: [call('v1:plant.dry')] },
  {
    name: 'two callers with one key',
    requests: [call('v1:plant.make', 'r1', 'first', 'k'), call('v1:plant.make', 'r2', 'second', 'k')],
  },
  {
    name: 'one request from two addresses',
    requests: [call('v1:plant.make', 'r1', 'first'), call('v1:plant.make', 'r1', 'second')],
  },
]

function plant(wait: (ms: number) => Promise<void>): OperationDefinition[] {
  const result = jsonSchema<string>({ type: 'string' })
  const acting = { sideEffecting: true, idempotencyRequired: false, result } as const
  const after = (ms: number) => async () => {
    if (ms > 0) await wait(ms)
    return 'done'
  }
  return [
    operation('v1:plant.make', {
      model: 'async',
      sideEffecting: true,
      idempotencyRequired: false,
      result,
      run: after(1_000),
    }),
    operation('v1:plant.cut', { ...acting, run: after(0) }),
    operation('v1:plant.glue', { ...acting, maxSyncMs: 5_000, run: after(1_000) }),
    operation('v1:plant.dry', { ...acting, maxSyncMs: 500, run: after(1_000) }),
  ]
}

/** One server after the other ends at its point, and the last one lives. */
async function tell({ requests }: Story, ...points: (number | string)[]) {
  const cluster = openCluster()
  const broker = new MemoryBroker(requests.map((request) => ({ ...request })))
  const operations = plant((ms) => new Promise((resolve) => void cluster.clock.schedule(ms, resolve)))
  const ending = points.map((point) => new Death(point))
  for (const death of [...ending, new Death()]) {
    await live(cluster, broker, death, operations)
    if (!death.isDead) break
    await cluster.restart()
  }
  const left = await cluster.store.records.list('owed-reply/', 10)
  return { broker, deaths: ending, left }
}

/** What each caller has seen, in order. */
function problemsIn({ requests }: Story, broker: MemoryBroker, died: boolean): string[] {
  return requests.flatMap(({ place, envelope }) => {
    const { requestId } = envelope.ctx
    const seen = broker.published.filter(
      (message) => message.place === place && message.envelope.requestId === requestId,
    )
    const states = seen.map((message) => message.envelope.state)
    const ends = states.filter(isEnd)
    return [
      ends.length === 0 && `${place} has not learned of the end: ${states.join(', ')}`,
      new Set(ends).size > 1 && `${place} has seen two ends: ${states.join(', ')}`,
      !died && ends.length > 1 && `${place} has got the end ${ends.length} times`,
      states.some((state, at) => !isEnd(state) && states.slice(0, at).some(isEnd)) &&
        `${place} has seen the state go back: ${states.join(', ')}`,
    ].filter((problem) => problem !== false)
  })
}

function isEnd(state: string): boolean {
  return state === 'complete' || state === 'error'
}

/** The last server but one ends after each single point. The servers before it end at the given ones. */
async function tellEveryPoint(story: Story, ...before: string[]): Promise<object[]> {
  const broken: object[] = []
  for (let after = 1, died = true; died; after++) {
    const { broker, deaths, left } = await tell(story, ...before, after)
    died = deaths.every(({ isDead }) => isDead)
    const problems = problemsIn(
      story,
      broker,
      deaths.some(({ isDead }) => isDead),
    )
    if (left.length > 0) problems.push(`notes are left: ${JSON.stringify(left)}`)
    const endedAfter = `write ${after}, ${deaths.at(-1)?.writes.at(-1)}`
    if (problems.length > 0) broken.push({ endedAfter, problems })
  }
  return broken
}

test.each(STORIES)(
  '$name: whenever the server ends, every caller gets the end',
  { timeout: 240_000 },
  async (story) => {
    expect(await tellEveryPoint(story)).toEqual([])
  },
)

test.each(STORIES.slice(0, 1))(
  '$name: whenever the server ends that sends its end late, the next one sends it',
  {
    timeout: 240_000,
  },
  async (story) => {
    expect(await tellEveryPoint(story, 'advance')).toEqual([])
  },
)

test('a call that ends before its first reply costs no further write', async () => {
  const { deaths } = await tell({ name: '', requests: [call('v1:plant.cut')] }, 1_000_000)
  const writes = deaths[0]?.writes ?? []
  expect(writes.filter((name) => !name.startsWith('claim'))).toEqual(['accept', 'advance', 'publish', 'acknowledge'])
})
