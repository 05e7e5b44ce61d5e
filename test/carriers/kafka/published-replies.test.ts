/** A message is done when the brokers have its replies. The brokers are a function here, so that the test decides when. */
import type { Producer } from '@platformatic/kafka'
import { expect, test } from 'vitest'
import { Outbox } from '../../../src/carriers/kafka/outbox.ts'
import { ReplyAddress } from '../../../src/carriers/kafka/reply-address.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'

function openAddress() {
  const sent = Promise.withResolvers<unknown>()
  const ending = new AbortController()
  const outbox = new Outbox({
    topic: 'replies',
    producer: () => ({ send: () => sent.promise }) as unknown as Producer,
    log: createMemoryLog([]),
    signal: ending.signal,
    published() {},
    lost() {},
    idle() {},
  })
  const address = new ReplyAddress(
    { refusal: undefined, place: {}, inPlaceOf: (message) => message },
    (reply, _about, settled) =>
      outbox.add({ topic: 'replies', value: Buffer.from(String(reply)), headers: new Map(), settled }),
  )
  return { address, sent, ending }
}

test('a message without a reply is done at once', () => {
  expect(openAddress().address.flushed()).toBe(true)
})

test('a message is done when its reply is published', async () => {
  const { address, sent } = openAddress()
  address.send('reply', 'r1')
  let isDone: boolean | undefined
  const done = Promise.resolve(address.flushed()).then((published) => {
    isDone = published
  })

  await new Promise(setImmediate)
  await new Promise(setImmediate)
  expect(isDone).toBeUndefined()
  sent.resolve(undefined)
  await done
  expect(isDone).toBe(true)
})

test('a message is not done if the carrier closes before its reply is published', async () => {
  const { address, sent, ending } = openAddress()
  address.send('reply', 'r1')
  const published = address.flushed()

  await new Promise(setImmediate)
  ending.abort()
  sent.reject(new Error('closed'))

  expect(await published).toBe(false)
})
