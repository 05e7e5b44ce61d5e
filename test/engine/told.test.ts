/** A caller that got a reply before the end of its call finds the outcome on every node, in every order of events. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { ADA, Gate, Node, openCluster, settled } from './node.ts'

const RETENTION_MS = 600_000

/** Sync, recorded, and kept no longer than its caller waits (`ttlSeconds` 0). */
function paying(run: () => unknown) {
  return operation('v1:shop.pay', { sideEffecting: true, idempotencyRequired: false, run })
}

test('a call that another node said to be pending is kept 600 s after its end', async () => {
  const cluster = openCluster()
  const gate = new Gate<number>()
  const [here, there] = [0, 1].map(() => new Node(cluster, { operations: [paying(() => gate.pass())] })) as [Node, Node]
  const calling = here.call('v1:shop.pay')
  await gate.reached

  const before = await there.followUp.poll(ADA, 'r1')
  cluster.clock.advance(1_000)
  gate.open(7)
  await calling

  expect(before.state).toBe('pending')
  cluster.clock.advance(RETENTION_MS - 1)
  expect(await there.followUp.poll(ADA, 'r1')).toMatchObject({ state: 'complete', result: 7 })
  cluster.clock.advance(1)
  await expect(there.followUp.poll(ADA, 'r1')).rejects.toMatchObject({ kind: 'not-found' })
})

test('a call that no caller was told of is removed with its reply', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [paying(() => 7)] })

  expect(await node.call('v1:shop.pay')).toMatchObject({ state: 'complete', result: 7 })

  await expect(node.followUp.poll(ADA, 'r1')).rejects.toMatchObject({ kind: 'not-found' })
})

test('a caller that waited long enough finds the end', async () => {
  const cluster = openCluster()
  const gate = new Gate<number>()
  const node = new Node(cluster, { operations: [paying(() => gate.pass())] })
  const calling = node.call('v1:shop.pay', {}, { waitMs: 1_000 })
  await gate.reached
  cluster.clock.advance(1_000)

  expect((await calling).state).toBe('pending')
  gate.open(7)
  await settled()

  expect(await node.followUp.poll(ADA, 'r1')).toMatchObject({ state: 'complete', result: 7 })
})

test.each(['the same node', 'another node'])('a first poll at %s that races the end stays true', async (where) => {
  const cluster = openCluster()
  const gates: Gate<number>[] = []
  const pay = paying(() => (gates.at(-1) as Gate<number>).pass())
  const limits = { pollBurst: 10_000 }
  const here = new Node(cluster, { operations: [pay], limits })
  const there = where === 'the same node' ? here : new Node(cluster, { operations: [pay], limits })
  const said: string[] = []
  for (let seed = 0; seed < 200; seed++) {
    const gate = new Gate<number>()
    gates.push(gate)
    const requestId = `seed-${seed}`
    const calling = here.call('v1:shop.pay', {}, { requestId, waitMs: 1_000 })
    await gate.reached
    const poll = () => there.followUp.poll(ADA, requestId)
    // Which begins first, how many turns lie between, and whether the caller's own wait runs out as well.
    const first = seed % 2 === 0 ? poll() : undefined
    for (let turn = seed % 7; turn > 0; turn--) await null
    for (let turn = seed % 3; turn > 0; turn--) await new Promise(setImmediate)
    gate.open(seed)
    for (let turn = seed % 5; turn > 0; turn--) await null
    if (seed % 4 === 0) cluster.clock.advance(1_000)
    const seen = await (first ?? poll()).catch((thrown) => thrown)
    const told = await calling
    await settled()
    const after = await poll().catch((thrown) => thrown)
    said.push(seen.state ?? seen.kind)
    // One that was told that it goes on, by a poll or by its own reply, finds the end.
    if (seen.state === 'pending' || told.state === 'pending')
      expect(after, requestId).toMatchObject({ state: 'complete', result: seed })
    else expect(told, requestId).toMatchObject({ state: 'complete', result: seed })
  }
  expect(new Set(said)).toContain('pending')
  expect(new Set(said)).toContain('complete')
})
