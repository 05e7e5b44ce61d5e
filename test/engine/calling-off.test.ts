/** A request that is called off stops the call that it started, but not a call that it joined. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { ADA, Gate, Node, openCluster } from './node.ts'

test('a request id that joined a call by its key does not stop it; the one that started it does', async () => {
  const cluster = openCluster()
  const gate = new Gate()
  const stopped = Promise.withResolvers<unknown>()
  const make = operation('v1:make', {
    model: 'async',
    run: (_, ctx) => {
      ctx.signal.addEventListener('abort', () => stopped.resolve(ctx.signal.reason))
      return Promise.race([gate.pass(), stopped.promise.then((why) => Promise.reject(why))])
    },
  })
  const node = new Node(cluster, { operations: [make] })
  const recorded: string[] = []
  const told = (requestId: string) => ({ recorded: () => void recorded.push(requestId) })
  await node.call('v1:make', {}, { requestId: 'first', idempotencyKey: 'once' }, told('first'))
  await node.call('v1:make', {}, { requestId: 'second', idempotencyKey: 'once' }, told('second'))
  await gate.reached

  await node.followUp.callOff(ADA, 'second')
  const between = await node.followUp.poll(ADA, 'first')
  await node.followUp.callOff(ADA, 'first')

  expect(recorded).toEqual(['first'])
  expect(between.state).toBe('pending')
  expect(await node.followUp.poll(ADA, 'second')).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
})
