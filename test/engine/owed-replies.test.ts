/** Replies that a lost connection owes: which server sends them, when, and for how long. */
import { expect, test } from 'vitest'
import type { Reply } from '../../src/core/call/reply.ts'
import { Fault } from '../../src/core/fault.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { operation } from '../../src/core/operation/define.ts'
import { LateSending } from '../../src/engine/owed/late-replies.ts'
import { createRunEnvironment } from '../../src/testing/run-operation/run-environment.ts'
import { type Cluster, Gate, Node, openCluster, settled } from './node.ts'

const ADDRESS = { carrier: 'post', place: { box: 7 } }

function open(cluster = openCluster()) {
  const gate = new Gate<string>()
  const make = operation('v1:make', { model: 'async', ttlSeconds: 60, run: () => gate.pass() })
  return { cluster, gate, node: new Node(cluster, { operations: [make] }) }
}

/** A server that can send to addresses of this carrier. */
function sending(cluster: Cluster, node: Node, answer: () => void = () => {}, carrier = 'post') {
  const sent: { place: JsonObject; reply: Reply }[] = []
  const tries: number[] = []
  const log: { message?: string }[] = []
  const env = createRunEnvironment(log as never, cluster.clock)
  const late = new LateSending({ env, store: cluster.store, owed: node.engine.owed })
  late.add(carrier, async (place, reply) => {
    tries.push(cluster.clock.now())
    answer()
    sent.push({ place, reply })
  })
  return { sent, tries, log, late }
}

/** Makes the call of a connection that is lost before the end. */
async function abandonedCall({ node, gate }: ReturnType<typeof open>): Promise<void> {
  const owed = node.calls.oweReply(ADDRESS)
  await node.call('v1:make', {}, { requestId: 'r1' }, { owed })
  await gate.reached
  owed.release()
}

async function pass(cluster: Cluster, ms: number, stepMs = 1_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await settled()
    cluster.clock.advance(stepMs)
  }
  await settled()
}

const notes = (cluster: Cluster) => cluster.store.records.list('owed-reply/', 10)

test('a server without the carrier leaves the reply to one that has it', async () => {
  const site = open()
  await abandonedCall(site)
  const other = sending(site.cluster, site.node, undefined, 'phone')
  site.gate.open('made')
  await pass(site.cluster, 20_000)
  const kept = await notes(site.cluster)

  const right = sending(site.cluster, site.node)
  await pass(site.cluster, 1_000)

  expect(other.sent).toEqual([])
  expect(kept).toHaveLength(1)
  expect(right.sent).toMatchObject([
    { place: { box: 7 }, reply: { requestId: 'r1', state: 'complete', result: 'made' } },
  ])
  expect(await notes(site.cluster)).toEqual([])
})

test('the connection that has the call gets the first chance, also while its carrier is slow', async () => {
  const { cluster, node, gate } = open()
  const { sent } = sending(cluster, node)
  const owed = node.calls.oweReply(ADDRESS)
  await node.call('v1:make', {}, { requestId: 'r1' }, { owed })
  gate.open('made')
  await pass(cluster, 30_000)
  const before = [...sent]

  await owed.paid()

  await pass(cluster, 10_000)
  expect([before, sent]).toEqual([[], []])
  expect(await notes(cluster)).toEqual([])
})

test('two servers do not send the same reply at the same time', async () => {
  const site = open()
  await abandonedCall(site)
  const servers = [1, 2, 3].map(() => sending(site.cluster, site.node))
  site.gate.open('made')

  await pass(site.cluster, 20_000)

  expect(servers.flatMap(({ sent }) => sent)).toHaveLength(1)
})

test('a carrier that is away is tried again after longer and longer times', async () => {
  const site = open()
  await abandonedCall(site)
  let isAway = true
  const { tries, sent } = sending(site.cluster, site.node, () => {
    if (isAway) throw new Fault('unavailable', 'The broker is away.')
  })
  site.gate.open('made')
  await pass(site.cluster, 200_000)
  const whileAway = tries.length

  isAway = false
  await pass(site.cluster, 120_000)

  expect(whileAway).toBeGreaterThan(2)
  expect(whileAway).toBeLessThan(8)
  expect(sent).toHaveLength(1)
})

test('a reply that can never be sent is given up, and the log says so', async () => {
  const site = open()
  await abandonedCall(site)
  const { tries, log } = sending(site.cluster, site.node, () => {
    throw new Fault('forbidden', 'The broker refuses this topic.')
  })
  site.gate.open('made')

  await pass(site.cluster, 60_000)

  expect(tries).toHaveLength(1)
  expect(await notes(site.cluster)).toEqual([])
  expect(JSON.stringify(log)).toContain('could not send a reply that is owed')
})

test('a reply is no longer tried some time after the call can be polled', async () => {
  const site = open()
  await abandonedCall(site)
  const { tries } = sending(site.cluster, site.node, () => {
    throw new Fault('unavailable', 'The broker is away.')
  })
  site.gate.open('made')
  await pass(site.cluster, 700_000, 5_000)
  const until = tries.length

  await pass(site.cluster, 600_000, 5_000)

  expect(tries).toHaveLength(until)
  expect(await notes(site.cluster)).toEqual([])
})

test('a call that expires ends, and its end is sent although it can no longer be polled', async () => {
  const site = open()
  await abandonedCall(site)
  await site.node.maintenance.start()
  const { sent } = sending(site.cluster, site.node)
  site.node.engine.worker.stop(0).catch(() => {})

  await pass(site.cluster, 90_000)
  await site.node.maintenance.stop()

  expect(sent).toMatchObject([{ reply: { state: 'error', fault: { kind: 'timeout' } } }])
})
