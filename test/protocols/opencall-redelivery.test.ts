/** An OpenCALL session on a carrier that redelivers unacknowledged messages. */
import { expect, test } from 'vitest'
import type { Call } from '../../src/core/call/call.ts'
import type { Reply } from '../../src/core/call/reply.ts'
import { Fault } from '../../src/core/fault.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { CallOptions, Calls } from '../../src/core/ports/calls.ts'
import type { Environment } from '../../src/core/ports/runtime.ts'
import type { Connection, OpenSession } from '../../src/core/ports/session.ts'
import { createOpenCallSessions } from '../../src/protocols/opencall/index.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { createMessagePair } from '../../src/testing/fakes/message-pair.ts'

function connect(
  call: (options: CallOptions) => Promise<Reply>,
  redelivers: boolean,
  address: Pick<Connection, 'subject' | 'lossy'> = {},
  sideEffecting = false,
) {
  const log = createMemoryLog([])
  const open = openSession(call, redelivers, sideEffecting)
  const addressed: OpenSession = ({ peer, origin, signal, send }) => open({ peer, origin, signal, send, ...address })
  return createMessagePair(addressed, { log })
}

function openSession(
  call: (options: CallOptions, made: Call) => Promise<Reply>,
  redelivers: boolean,
  sideEffecting = false,
): OpenSession {
  const log = createMemoryLog([])
  const unused = () => Promise.reject(new Error('not part of this story'))
  const calls: Pick<Calls, 'admit' | 'call' | 'oweReply' | 'poll' | 'watch' | 'cancel' | 'chunk'> = {
    admit: async (name) => ({ name: { full: name }, sideEffecting }) as Operation,
    call: (made, _identify, options = {}) => call(options, made),
    oweReply: (address) => ({ address, isKept: false, paid: async () => {}, release: () => {} }),
    poll: unused,
    cancel: unused,
    chunk: unused,
    async *watch() {},
  }
  return createOpenCallSessions({
    calls,
    env: { log, newId: () => 'new' } as unknown as Environment,
    transports: { get: () => undefined, names: () => [] },
    identify: () => () => undefined,
    settings: { strict: false, redelivers },
  })
}

const ENVELOPE = '{"op":"v1:it.runs","ctx":{"requestId":"r1"}}'

test('a message is acknowledged when its call is recorded, before the call is answered', async () => {
  const end = Promise.withResolvers<Reply>()
  const record = Promise.withResolvers<void>()
  let isKept = false
  const pair = connect(async ({ recorded, redelivers }) => {
    isKept = redelivers === true
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

  expect([before, after, isKept]).toEqual([false, true, true])
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

const COMPLETE: Reply = { requestId: 'r1', model: 'sync', state: 'complete', result: 1 }

test('a call that could not be found again after a redelivery is refused', async () => {
  const pair = connect(async () => COMPLETE, true)

  await pair.send('{"op":"v1:it.runs"}')
  await pair.send('{"op":"v1:it.runs","ctx":{"idempotencyKey":"k1"}}')

  expect(JSON.parse(String(await pair.read()))).toMatchObject({ error: { cause: { field: 'ctx.requestId' } } })
  expect(JSON.parse(String(await pair.read()))).toMatchObject({ state: 'complete' })
})

test('a message whose call needs no record is acknowledged when its response is sent', async () => {
  const room = Promise.withResolvers<void>()
  const session = openSession(
    async () => COMPLETE,
    true,
  )({
    peer: { header: () => undefined },
    origin: 'http://127.0.0.1',
    signal: new AbortController().signal,
    send: () => room.promise,
  })
  let isAcknowledged = false
  const taking = Promise.resolve(session.receive(ENVELOPE)).then(() => {
    isAcknowledged = true
  })

  await new Promise(setImmediate)
  expect(isAcknowledged).toBe(false)
  room.resolve()
  await taking
  expect(isAcknowledged).toBe(true)
})

test('a call that the end of the session cuts off is given back, if it is not recorded', async () => {
  const canceled: Reply = { requestId: 'r1', model: 'sync', state: 'error', fault: new Fault('canceled', 'Canceled.') }
  const cutOff = (isRecorded: boolean) => async (options: CallOptions) => {
    if (isRecorded) options.recorded?.()
    const { signal } = options.client ?? {}
    await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }))
    return canceled
  }
  for (const isRecorded of [false, true]) {
    const { session, sent } = recording(openSession(cutOff(isRecorded), true))
    const taking = Promise.resolve(session.receive(ENVELOPE)).then(
      () => 'taken',
      ({ kind }) => kind,
    )
    await session.close()

    expect([await taking, sent.length]).toEqual(isRecorded ? ['taken', 1] : ['unavailable', 0])
  }
})

test('messages that may get lost make no call with side effects, and other calls need no record', async () => {
  const options: CallOptions[] = []
  const call = async (given: CallOptions) => {
    options.push(given)
    return COMPLETE
  }
  const reading = connect(call, true, { lossy: true })
  const writing = connect(call, true, { lossy: true }, true)

  await reading.send('{"op":"v1:it.runs"}')
  await writing.send(ENVELOPE)

  expect(JSON.parse(String(await reading.read()))).toMatchObject({ state: 'complete' })
  const refused = { requestId: 'r1', state: 'error', error: { code: 'DELIVERY_NOT_GUARANTEED' } }
  expect(JSON.parse(String(await writing.read()))).toMatchObject(refused)
  expect(options.map(({ redelivers }) => redelivers)).toEqual([false])
})

test('a message that may get lost is answered when the server cannot take it', async () => {
  const pair = connect(() => Promise.reject(new Fault('unavailable', 'Not now.')), true, { lossy: true })

  expect(await pair.send(ENVELOPE)).toBe(true)
  expect(JSON.parse(String(await pair.read()))).toMatchObject({ state: 'error', error: { code: 'PANIC_UNAVAILABLE' } })
})

test('an envelope that was sent to the address of another operation is refused', async () => {
  const pair = connect(async () => COMPLETE, true, { subject: 'v1:it.walks' })

  await pair.send(ENVELOPE)

  const refused = { requestId: 'r1', state: 'error', error: { code: 'OP_MISMATCH' } }
  expect(JSON.parse(String(await pair.read()))).toMatchObject(refused)
})

/** A session whose connection keeps what it sends. */
function recording(open: OpenSession) {
  const sent: { about: string | undefined; requestId: string }[] = []
  const session = open({
    peer: { header: () => undefined },
    origin: 'http://127.0.0.1',
    signal: new AbortController().signal,
    async send(message, about) {
      sent.push({ about, requestId: JSON.parse(String(message)).requestId })
    },
  })
  return { session, sent }
}

test('a request without an id has the id of its message, each time that the message is delivered', async () => {
  const ids: string[] = []
  const open = openSession(async (_options, { requestId }) => {
    ids.push(requestId)
    return { requestId, model: 'sync', state: 'complete', result: 1 }
  }, true)

  for (let delivery = 0; delivery < 2; delivery++)
    await recording(open).session.receive('{"op":"v1:it.runs"}', () => 'ops:7')
  await recording(open).session.receive(ENVELOPE, () => 'ops:8')

  expect(ids).toEqual(['ops:7', 'ops:7', 'r1'])
})

test('a refusal is about the request of its message, and about nothing if the message names none', async () => {
  const { session, sent } = recording(openSession(() => Promise.reject(new Fault('forbidden', 'No.')), true))

  await session.refuse(new Fault('forbidden', 'Not here.'), ENVELOPE)
  await session.refuse(new Fault('forbidden', 'Not here.'), 'no JSON')
  await session.refuse(new Fault('malformed', 'Too large.'))
  await session.receive('no JSON', () => 'ops:7')

  expect(sent).toEqual([
    { about: 'r1', requestId: 'r1' },
    { about: undefined, requestId: 'new' },
    { about: undefined, requestId: 'new' },
    { about: undefined, requestId: 'new' },
  ])
})
