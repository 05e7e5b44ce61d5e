export { createKafka, type Kafka } from './carrier.ts'
export type { KafkaLogin, KafkaSettings, KafkaTls } from './settings.ts'
