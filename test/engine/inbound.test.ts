/** The duties that all protocols share and that the port for calls performs. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { ADA, Gate, Node, openCluster, settled } from './node.ts'

const EVE = { ...ADA, subject: 'eve' }

function openNode() {
  const gate = new Gate()
  const stopped = Promise.withResolvers<void>()
  const work = operation('v1:work', {
    model: 'async',
    run: (_args, { signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      return gate.pass()
    },
  })
  return { gate, stopped: stopped.promise, node: new Node(openCluster(), { operations: [work] }) }
}

test('the calls of another caller are not found, and a client without a credential is told to send one', async () => {
  const { node, gate } = openNode()
  await node.call('v1:work', {}, { requestId: 'r1' })
  await gate.reached
  const { signal } = new AbortController()
  const watch = (caller?: typeof ADA) => node.calls.watch(caller, 'r1', signal)[Symbol.asyncIterator]().next()

  for (const [caller, kind] of [[EVE, 'not-found'] as const, [undefined, 'unauthenticated'] as const]) {
    await expect(node.calls.poll(caller, 'r1')).rejects.toMatchObject({ kind })
    await expect(node.calls.cancel(caller, 'r1')).rejects.toMatchObject({ kind })
    await expect(node.calls.chunk(caller, 'r1', () => 0)).rejects.toMatchObject({ kind })
    await expect(watch(caller)).rejects.toMatchObject({ kind })
  }
  expect(await node.calls.poll(ADA, 'r1')).toMatchObject({ state: 'pending' })
})

test('a call that would be canceled when its client leaves continues while another connection waits for it', async () => {
  const { node, gate, stopped } = openNode()
  const [first, second] = [new AbortController(), new AbortController()]
  const wait = (leaving: AbortController) =>
    node.calls.call({ operation: 'v1:work', args: {}, media: [], requestId: 'r1', idempotencyKey: 'r1' }, () => ADA, {
      client: { signal: leaving.signal, origin: '' },
      holdMs: 60_000,
      untilEnd: true,
      cancelsWhenGone: true,
    })
  let goesOn = true
  stopped.then(() => {
    goesOn = false
  })
  const waiting = [wait(first), wait(second)]
  await gate.reached
  await settled()

  first.abort()
  await settled()
  const between = [goesOn, (await node.calls.poll(ADA, 'r1')).state]
  second.abort()
  await stopped

  expect(between).toEqual([true, 'pending'])
  gate.open('too late')
  expect(await waiting[1]).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  await waiting[0]
})
