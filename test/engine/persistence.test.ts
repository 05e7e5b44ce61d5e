/** The stored state of a call at every step of its life, and its meaning after everything in memory is lost. */
import { expect, test } from 'vitest'
import type { Instance } from '../../src/core/call/instance.ts'
import { mayFollow } from '../../src/core/call/state.ts'
import { operation } from '../../src/core/operation/define.ts'
import { verifies } from '../requirements.ts'
import { ADA, Gate, Node, openCluster, STOP_GRACE_MS, settled } from './node.ts'

const NAMES = ['done', 'failed', 'running', 'queued']

test('the state of a call and its outcome survive a restart', async () => {
  verifies('opencall:294')
  const cluster = openCluster()
  const gate = new Gate()
  const work = operation('v1:work', {
    model: 'async',
    run: ({ how }, ctx) => {
      if (how === 'failed') return ctx.fail('NO', 'No.')
      return how === 'running' ? gate.pass() : how
    },
  })
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })
  for (const how of ['done', 'failed']) {
    await node.call('v1:work', { how }, { requestId: how })
    await cluster.ended((await cluster.find(how)).id)
  }
  for (const how of ['running', 'queued']) await node.call('v1:work', { how }, { requestId: how })
  await gate.reached
  const before = await Promise.all(NAMES.map((name) => cluster.find(name)))

  node.kill()
  await cluster.restart()
  const after = await Promise.all(NAMES.map((name) => cluster.find(name)))

  // The holder of the lease is dead, so the call is due at once.
  const due = { dueAt: cluster.clock.now() }
  expect(after).toEqual(before.map((each) => (each.dueAt === undefined ? each : { ...each, ...due })))
  expect(after.map(({ state }) => state)).toEqual(['complete', 'error', 'pending', 'accepted'])
  expect(after[0]).toMatchObject({ outcome: { kind: 'result', value: 'done' } })
  expect(after[1]).toMatchObject({ outcome: { kind: 'fault', fault: { code: 'NO' } } })
})

test('a call can end in error from every state it can be in, and after an end nothing is written any more', async () => {
  verifies('opencall:292')
  const cluster = openCluster()
  const gates = { running: new Gate<string>(), done: new Gate<string>() }
  const work = operation('v1:work', {
    model: 'async',
    concurrency: 2,
    run: ({ how }) => (how === 'running' || how === 'done' ? gates[how].pass() : 'never'),
  })
  const node = new Node(cluster, { operations: [work] })
  const steps = new Map<string, Instance[]>()
  for (const how of ['running', 'done', 'queued']) {
    await node.call('v1:work', { how }, { requestId: how })
    const first = await cluster.find(how)
    const seen = [first]
    steps.set(how, seen)
    cluster.store.watch(first.id, (instance) => seen.push(instance))
  }
  await Promise.all([gates.running.reached, gates.done.reached])

  await node.followUp.cancel(ADA, 'queued')
  const canceling = node.followUp.cancel(ADA, 'running')
  await settled()
  cluster.clock.advance(STOP_GRACE_MS)
  await canceling
  gates.done.open('done')
  await cluster.ended((await cluster.find('done')).id)
  const ends = await Promise.all(['queued', 'running', 'done'].map((name) => cluster.find(name)))
  // Whatever could still move one of them: the handler that was given up, cancels, housekeeping.
  gates.running.open('too late')
  await settled()
  for (const name of ['queued', 'running', 'done']) await node.followUp.cancel(ADA, name)
  await node.maintenance.tidy()
  await settled()

  expect(ends.map(({ state, outcome }) => [state, outcome?.kind])).toEqual([
    ['error', 'fault'],
    ['error', 'fault'],
    ['complete', 'result'],
  ])
  expect(await Promise.all(['queued', 'running', 'done'].map((name) => cluster.find(name)))).toEqual(ends)
  expect(steps.get('queued')?.map(({ state }) => state)).toEqual(['accepted', 'error'])
  for (const seen of steps.values()) {
    const states = seen.map(({ state }) => state).filter((state, at, all) => state !== all[at - 1])
    for (const [at, state] of states.entries()) if (at > 0) expect(mayFollow(states[at - 1] ?? state, state)).toBe(true)
    expect(states).toHaveLength(2)
  }
})
