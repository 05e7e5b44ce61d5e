export { createKafka, type Kafka, NAME } from './carrier.ts'
export type { KafkaLogin, KafkaSettings, KafkaTls } from './settings.ts'
