/** Callplane as a client of an MQTT or Kafka broker, with its defaults. */
import { createServer, jsonSchema, operation } from '../../src/index.ts'
import type { Pair } from './add-checks.ts'
import { ADD, ADD_ARGS, ADD_RESULT } from './add-schemas.ts'
import { BOOK, type BrokerPlace, kafkaTopics } from './brokers.ts'
import type { Contender } from './contender.ts'

export const start: Contender = async ({ data, broker }) => {
  if (data === undefined || !broker) throw new Error('Give this contender a data folder and a broker.')
  const add = {
    args: jsonSchema<Pair>(ADD_ARGS),
    result: jsonSchema<number>(ADD_RESULT),
    run: ({ a, b }: Pair) => a + b,
  }
  const server = await createServer({
    operations: [operation(ADD, add), operation(BOOK, { ...add, sideEffecting: true, idempotencyRequired: false })],
    data,
    log: 'error',
    ...carrierOf(broker),
  })
  const { port } = await server.listen({ port: 0 })
  return { port, close: () => server.close(1_000) }
}

function carrierOf(broker: BrokerPlace) {
  const address = `127.0.0.1:${broker.port}`
  if (broker.kind === 'mqtt') return { mqtt: { url: `mqtt://${address}` } }
  return { kafka: { brokers: [address], group: broker.prefix, topics: kafkaTopics(broker) } }
}
