/** The client through a Kafka broker. */
import { Admin } from '@platformatic/kafka'
import { createToken } from 'callplane'
import { createClient } from 'callplane/client'
import { kafkaTransport } from 'callplane/client/kafka'
import { afterAll, beforeAll, vi } from 'vitest'
import { describeWith, kafkaBroker } from '../../engines/engines.ts'
import { type Kafka, startKafka } from '../../engines/kafka.ts'
import { startSite } from '../../scenarios/server.ts'
import type { Operations } from '../transports/operations.ts'
import { describeTransport } from '../transports/suite.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** A broker needs some seconds to start again. */
const retries = 20
const { token, hash } = createToken()
const auth = { tokens: [{ kind: 'bearer' as const, hash, subject: 'ada', scopes: ['*'] }] }

describeWith(kafkaBroker, 'Kafka', () => {
  let kafka: Kafka
  beforeAll(async () => {
    kafka = await startKafka()
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [kafka.address] })
    await admin.createTopics({
      topics: ['callplane.replies', 'callplane.frames', 'ada.replies'],
      partitions: 2,
      replicas: 1,
    })
    await admin.close()
  })
  afterAll(() => kafka[Symbol.asyncDispose]())

  async function interrupt() {
    await kafka.kill()
    await kafka.restart()
  }

  describeTransport('over Kafka', async (operations) => {
    const brokers = [kafka.address]
    await startSite({
      operations: [...operations],
      auth,
      kafka: { brokers, createTopics: true, replyTopics: ['ada.*'] },
    })
    const options = { brokers, token, replyTopic: 'ada.replies' }
    return { interrupt, createClient: () => createClient<Operations>({ transport: kafkaTransport(options), retries }) }
  })
})
