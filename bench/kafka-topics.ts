/** Creates the topics of a server of the Kafka suite. One partition each, because all calls have the same key. */
import { Admin } from '@platformatic/kafka'
import { type BrokerPlace, kafkaTopics } from './contenders/brokers.ts'

export async function createKafkaTopics(place: BrokerPlace): Promise<void> {
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [`127.0.0.1:${place.port}`], retries: 10 })
  await admin.createTopics({ topics: Object.values(kafkaTopics(place)), partitions: 1, replicas: 1 })
  await admin.close()
}
