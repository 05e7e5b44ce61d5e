/** What needs no broker: the options, and which offsets may be committed. */
import { expect, test } from 'vitest'
import { type Entry, PartitionProgress } from '../../src/carriers/kafka/progress.ts'
import { parseServe } from '../../src/cli/serve/settings.ts'
import { frameTopicOf } from '../../src/protocols/opencall/index.ts'
import { startSite } from '../scenarios/server.ts'

const entry = (offset: bigint): Entry => ({ offset, leaderEpoch: 1, isDone: false, next: undefined })

test('only the end of the messages that are done without a gap is committed', () => {
  const progress = new PartitionProgress()
  const first = entry(10n)
  const second = entry(11n)
  const third = entry(13n)
  for (const message of [first, second, third]) expect(progress.begin(message)).toBe(true)

  progress.finish(second)
  expect(progress.takeCommittable()).toBeUndefined()
  progress.finish(first)
  expect(progress.takeCommittable()).toEqual({ offset: 12n, leaderEpoch: 1 })
  expect(progress.takeCommittable()).toBeUndefined()
  progress.finish(third)
  expect(progress.takeCommittable()).toEqual({ offset: 14n, leaderEpoch: 1 })
})

test('a message that is in progress or done is not begun again', () => {
  const progress = new PartitionProgress()
  const first = entry(10n)
  expect(progress.begin(first)).toBe(true)
  expect(progress.begin(entry(10n))).toBe(false)
  progress.finish(first)
  expect(progress.begin(entry(10n))).toBe(false)
  expect(progress.begin(entry(11n))).toBe(true)
})

test.each([
  [{ brokers: [] }, 'kafka.brokers must be a list'],
  [{ brokers: ['127.0.0.1'] }, 'kafka.brokers must be a list'],
  [{ brokers: ['user:secret@127.0.0.1:9092'] }, 'kafka.brokers must be a list'],
  [{ brokers: ['127.0.0.1:9092'], topics: { replies: 'a b' } }, 'kafka.topics.replies'],
  [{ brokers: ['127.0.0.1:9092'], topics: { replies: 'a', frames: 'a' } }, 'different names'],
  [{ brokers: ['127.0.0.1:9092'], replyTopics: ['*'] }, 'kafka.replyTopics'],
  [{ brokers: ['127.0.0.1:9092'], sasl: { user: 'a' } }, 'kafka.sasl has no option "user"'],
  [{ brokers: ['127.0.0.1:9092'], maxInFlight: 0 }, 'kafka.maxInFlight'],
  [{ brokers: ['kafka.example:9092'] }, 'Without authentication the server uses Kafka on loopback only'],
])('the options %j are refused', async (kafka, message) => {
  await expect(startSite({ operations: [], kafka: kafka as never })).rejects.toThrow(message)
})

test('--kafka names the brokers, and the password leaves the environment', () => {
  const env: NodeJS.ProcessEnv = { CALLPLANE_KAFKA_USERNAME: 'server', CALLPLANE_KAFKA_PASSWORD: 'secret' }
  const settings = parseServe({ args: ['--kafka', 'a.example:9092, b.example:9092'], env })

  expect(settings.over({ kafka: { brokers: ['c.example:1'], group: 'mine' } }).kafka).toEqual({
    brokers: ['a.example:9092', 'b.example:9092'],
    group: 'mine',
    sasl: { username: 'server', password: 'secret' },
  })
  expect(env.CALLPLANE_KAFKA_PASSWORD).toBeUndefined()
})

test('the topic of an operation is a valid name', () => {
  expect(frameTopicOf('callplane.frames', 'v1:device.watch')).toBe('callplane.frames.v1.device.watch')
  expect(frameTopicOf('frames', `v1:${'x'.repeat(300)}`)).toHaveLength(249)
})
