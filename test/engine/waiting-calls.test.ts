/** Calls whose result comes later, by a callback or a poll: they hold no resources meanwhile. */
import { expect, test } from 'vitest'
import type { BackendContext } from '../../src/core/call/context.ts'
import { Fault } from '../../src/core/fault.ts'
import type { JsonValue } from '../../src/core/json.ts'
import { operation } from '../../src/core/operation/define.ts'
import { Deferred } from '../../src/core/operation/returned.ts'
import type { OperationRules } from '../../src/core/operation/rules.ts'
import type { Backend } from '../../src/core/ports/backend.ts'
import { ADA, type Cluster, Gate, LEASE_MS, Node, openCluster, STOP_GRACE_MS, settled } from './node.ts'

const POLL_MS = 2_000

/** The remote side: it receives calls, polls and stop requests, and records them. */
class Elsewhere implements Backend {
  readonly kind = 'elsewhere'
  readonly durable = true
  readonly heard: string[] = []
  /** Its reply to a poll while there is no answer. */
  look: (context: BackendContext, waiting: JsonValue) => unknown = (_context, waiting) => new Deferred(waiting, POLL_MS)
  /** Runs before the hand-over is done. */
  handOver: (context: BackendContext) => unknown = () => {}

  async execute(_args: unknown, context: BackendContext): Promise<unknown> {
    this.heard.push(`execute ${context.tryNumber}`)
    await context.expectAnswer({ job: context.tryNumber })
    await this.handOver(context)
    return new Deferred({ job: context.tryNumber }, POLL_MS)
  }

  resume(waiting: JsonValue, _args: unknown, context: BackendContext): unknown {
    const { answer } = context
    this.heard.push(answer === undefined ? `look at ${jobIn(waiting)}` : `answer to ${jobIn(waiting)}`)
    return answer ?? this.look(context, waiting)
  }

  async abandon(waiting: JsonValue): Promise<void> {
    this.heard.push(`abandon ${jobIn(waiting)}`)
  }
}

function jobIn(waiting: JsonValue): unknown {
  return (waiting as { job: number }).job
}

/** A node that runs `v1:render` on the other side, and has one slot. */
function nodeOn(cluster: Cluster, elsewhere: Elsewhere, rules: OperationRules = {}): Node {
  const { chunked: _, ...more } = rules
  const render = operation('v1:render', { model: 'async', ...more, backend: { kind: 'elsewhere' } })
  return new Node(cluster, { operations: [render], backends: { elsewhere }, limits: { runningCalls: 1 } })
}

/** An operation with effects, which is not simply run again. */
const WITH_EFFECTS: OperationRules = { model: 'sync', sideEffecting: true, idempotencyRequired: false }

async function leftWaiting(cluster: Cluster, node: Node): Promise<string> {
  await node.call('v1:render', {}, { waitMs: 0 })
  const { id } = await cluster.find('r1')
  await cluster.until(id, ({ waiting, attempt, settled }) => waiting !== undefined && attempt === settled)
  await settled()
  return id
}

test('a call that waits holds no slot and no lease, and is looked at again when it is time', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const node = nodeOn(cluster, elsewhere)

  const id = await leftWaiting(cluster, node)
  const standing = await cluster.store.get(id)
  const running = node.limits.running
  cluster.clock.advance(POLL_MS)
  await settled()
  elsewhere.look = () => 'rendered'
  cluster.clock.advance(POLL_MS)
  const ended = await cluster.ended(id)

  expect(standing).toMatchObject({ state: 'pending', waiting: { job: 1 }, dueAt: (standing?.createdAt ?? 0) + POLL_MS })
  expect(running).toBe(0)
  expect(elsewhere.heard).toEqual(['execute 1', 'look at 1', 'look at 1'])
  expect(ended).toMatchObject({ state: 'complete', failures: 0, outcome: { value: 'rendered' } })
  expect(await node.followUp.poll(ADA, 'r1')).toMatchObject({ usage: { attempt: 1, durationMs: 2 * POLL_MS } })
})

test('an answer from outside is taken at once; the first counts, and an unknown call has none', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const node = nodeOn(cluster, elsewhere)
  const id = await leftWaiting(cluster, node)
  const { worker } = node.engine

  const delivered = await Promise.all([worker.deliver(id, 'first'), worker.deliver(id, 'second')])
  const ended = await cluster.ended(id)

  expect(delivered).toEqual(['taken', 'answered'])
  expect(ended).toMatchObject({ state: 'complete', outcome: { value: 'first' } })
  expect(elsewhere.heard).toEqual(['execute 1', 'answer to 1'])
  expect(await worker.deliver(id, 'third')).toBe('answered')
  expect(await worker.deliver('unknown', 'lost')).toBe('unknown')
})

test('an answer that comes before the handing over has returned is not lost', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const slow = new Gate<void>()
  elsewhere.handOver = () => slow.pass()
  const node = nodeOn(cluster, elsewhere)
  await node.call('v1:render')
  const { id } = await cluster.find('r1')
  await slow.reached

  const delivered = await node.engine.worker.deliver(id, 'early')
  await settled()
  const meanwhile = [...elsewhere.heard]
  slow.open()

  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', outcome: { value: 'early' } })
  expect([delivered, meanwhile]).toEqual(['taken', ['execute 1']])
  expect(elsewhere.heard).toEqual(['execute 1', 'answer to 1'])
})

test('an answer that comes during a look counts, also if the look fails', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const look = new Gate<void>()
  elsewhere.look = async () => {
    await look.pass()
    throw new Fault('upstream', 'The renderer has forgotten it.', { retryable: false })
  }
  const node = nodeOn(cluster, elsewhere)
  const id = await leftWaiting(cluster, node)
  cluster.clock.advance(POLL_MS)
  await look.reached

  const delivered = await node.engine.worker.deliver(id, 'just in time')
  look.open()

  expect(delivered).toBe('taken')
  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', outcome: { value: 'just in time' } })
  expect(elsewhere.heard).toEqual(['execute 1', 'look at 1', 'answer to 1'])
})

test('a call that expects no answer takes none', async () => {
  const cluster = openCluster()
  const gate = new Gate()
  const node = new Node(cluster, { operations: [operation('v1:work', { model: 'async', run: () => gate.pass() })] })
  await node.call('v1:work')
  const { id } = await cluster.find('r1')

  expect(await node.engine.worker.deliver(id, 'out of the blue')).toBe('unknown')

  gate.open('done')
  expect(await cluster.ended(id)).toMatchObject({ outcome: { value: 'done' } })
})

type Phase = [phase: string, before: (cluster: Cluster, node: Node, elsewhere: Elsewhere) => Promise<unknown>]

const PHASES: Phase[] = [
  [
    'it is handed over',
    async (cluster, node, elsewhere) => {
      const never = new Gate<void>()
      elsewhere.handOver = () => never.pass()
      await node.call('v1:render', {}, { waitMs: 0 })
      await never.reached
      await cluster.until((await cluster.find('r1')).id, ({ waiting }) => waiting !== undefined)
    },
  ],
  ['it waits', (cluster, node) => leftWaiting(cluster, node)],
  [
    'it is looked at',
    async (cluster, node, elsewhere) => {
      const never = new Gate()
      elsewhere.look = () => never.pass()
      await leftWaiting(cluster, node)
      cluster.clock.advance(POLL_MS)
      await never.reached
    },
  ],
]

test.each(PHASES)('a restart while %s: the call continues, and is sent to the tool once', async (_phase, before) => {
  const cluster = openCluster()
  const [first, second] = [new Elsewhere(), new Elsewhere()]
  const dying = nodeOn(cluster, first, WITH_EFFECTS)
  await before(cluster, dying, first)
  const { id } = await cluster.find('r1')

  dying.kill()
  await cluster.restart()
  const node = nodeOn(cluster, second, WITH_EFFECTS)
  second.look = () => 'rendered'
  cluster.clock.advance(LEASE_MS)
  node.engine.worker.wake()

  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', outcome: { value: 'rendered' } })
  expect(second.heard).toEqual(['look at 1'])
})

test('an answer that came while no server ran the call is taken by the next one', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const dying = nodeOn(cluster, new Elsewhere())
  const id = await leftWaiting(cluster, dying)
  dying.kill()
  await cluster.store.answer(id, 'kept')

  await cluster.restart()
  nodeOn(cluster, elsewhere).engine.worker.wake()

  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', outcome: { value: 'kept' } })
  expect(elsewhere.heard).toEqual(['answer to 1'])
})

test('the time limit of one try covers all its polls; the next try is handed over again with its own time limit', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const node = nodeOn(cluster, elsewhere, { timeoutMs: 5_000, retry: { attempts: 2, backoffMs: 1_000 } })
  const id = await leftWaiting(cluster, node)

  for (const ms of [POLL_MS, POLL_MS, 1_000]) {
    cluster.clock.advance(ms)
    await settled()
  }
  const betweenTries = await cluster.store.get(id)
  cluster.clock.advance(1_000)
  await settled()
  elsewhere.look = () => 'rendered'
  cluster.clock.advance(POLL_MS)

  expect(betweenTries).toMatchObject({ state: 'pending', failures: 1 })
  expect([betweenTries?.waiting, betweenTries?.answer, betweenTries?.extras?.tryEndsAt]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', outcome: { value: 'rendered' } })
  expect(elsewhere.heard).toEqual(['execute 1', 'look at 1', 'look at 1', 'abandon 1', 'execute 2', 'look at 2'])
})

test('an answer to a try that is over is not taken for the next one', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  elsewhere.look = () => {
    throw new Fault('upstream', 'The renderer broke down.')
  }
  const node = nodeOn(cluster, elsewhere, { retry: { attempts: 2, backoffMs: 1_000 } })
  const id = await leftWaiting(cluster, node)
  cluster.clock.advance(POLL_MS)
  await cluster.until(id, ({ failures }) => failures === 1)

  expect(await node.engine.worker.deliver(id, 'too late')).toBe('unknown')
  cluster.clock.advance(1_000)
  await cluster.until(id, ({ waiting }) => waiting !== undefined)

  expect(elsewhere.heard).toEqual(['execute 1', 'look at 1', 'execute 2'])
})

test('a call canceled while it waits ends at once, and the remote side is notified', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  const node = nodeOn(cluster, elsewhere)
  const id = await leftWaiting(cluster, node)

  const reply = await node.followUp.cancel(ADA, 'r1')

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect(elsewhere.heard).toEqual(['execute 1', 'abandon 1'])
  expect(await node.engine.worker.deliver(id, 'too late')).toBe('answered')
  cluster.clock.advance(POLL_MS + STOP_GRACE_MS)
  await settled()
  expect(elsewhere.heard).toHaveLength(2)
  expect([node.limits.open, node.limits.running]).toEqual([0, 0])
})

test('a shutdown while the call is looked at hands it back without counting as a try', async () => {
  const cluster = openCluster()
  const elsewhere = new Elsewhere()
  elsewhere.look = (context) => new Promise((_, reject) => (context.signal.onabort = reject))
  const node = nodeOn(cluster, elsewhere)
  const id = await leftWaiting(cluster, node)
  cluster.clock.advance(POLL_MS)
  await settled()

  const stopping = node.engine.worker.stop(10)
  cluster.clock.advance(10)
  await stopping

  expect(await cluster.store.get(id)).toMatchObject({ state: 'pending', waiting: { job: 1 }, failures: 0 })
  expect(elsewhere.heard).toEqual(['execute 1', 'look at 1'])
})
