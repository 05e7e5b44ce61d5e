/** An OpenCALL session on a carrier that redelivers unacknowledged messages. */
import { expect, test } from 'vitest'
import type { Reply } from '../../src/core/call/reply.ts'
import { Fault } from '../../src/core/fault.ts'
import type { CallOptions, Calls } from '../../src/core/ports/calls.ts'
import type { Environment } from '../../src/core/ports/runtime.ts'
import { createOpenCallSessions } from '../../src/protocols/opencall/index.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { createMessagePair } from '../../src/testing/fakes/message-pair.ts'

function connect(call: (options: CallOptions) => Promise<Reply>, redelivers: boolean) {
  const log = createMemoryLog([])
  const unused = () => Promise.reject(new Error('not part of this story'))
  const calls: Pick<Calls, 'call' | 'poll' | 'watch' | 'cancel' | 'chunk'> = {
    call: (_call, _identify, options = {}) => call(options),
    poll: unused,
    cancel: unused,
    chunk: unused,
    async *watch() {},
  }
  const open = createOpenCallSessions({
    calls,
    env: { log, newId: () => 'new' } as unknown as Environment,
    transports: { get: () => undefined, names: () => [] },
    identify: () => () => undefined,
    settings: { strict: false, redelivers },
  })
  return createMessagePair(open, { log })
}

const ENVELOPE = '{"op":"v1:it.runs","ctx":{"requestId":"r1"}}'

test('a message is acknowledged when its call is recorded, before the call is answered', async () => {
  const end = Promise.withResolvers<Reply>()
  const record = Promise.withResolvers<void>()
  let isDurable = false
  const pair = connect(async ({ recorded, durable }) => {
    isDurable = durable === true
    await record.promise
    recorded?.()
    return end.promise
  }, true)
  let isAcknowledged = false
  const sending = pair.send(ENVELOPE).then((done) => {
    isAcknowledged = done
  })
  const before = isAcknowledged
  record.resolve()
  await sending
  const after = isAcknowledged
  end.resolve({ requestId: 'r1', model: 'sync', state: 'complete', result: 1 })

  expect([before, after, isDurable]).toEqual([false, true, true])
  expect(await pair.read()).toBe('{"requestId":"r1","state":"complete","result":1}')
})

test.each([
  ['given back where it is delivered again', true, false],
  ['answered where it is not', false, true],
])('a message that the server cannot take now is %s', async (_title, redelivers, isAcknowledged) => {
  const pair = connect(() => Promise.reject(new Fault('unavailable', 'Not now.')), redelivers)

  expect(await pair.send(ENVELOPE)).toBe(isAcknowledged)
  await pair.close()
  const answer = await pair.read()
  expect(answer === undefined ? undefined : JSON.parse(String(answer)).state).toBe(isAcknowledged ? 'error' : undefined)
})

test('a refused call and a failure of ours are answered and acknowledged, so that they are not delivered for ever', async () => {
  for (const thrown of [new Fault('forbidden', 'No.'), new Error('a bug')]) {
    const pair = connect(() => Promise.reject(thrown), true)
    expect(await pair.send(ENVELOPE)).toBe(true)
    expect(JSON.parse(String(await pair.read()))).toMatchObject({ requestId: 'r1', state: 'error' })
  }
})
