/** `--kafka`: the brokers from the command line, and the login from the environment. */
import type { KafkaOptions } from '../../server/options/kafka.ts'
import { type CommandIo, usageFault } from '../command.ts'

const USERNAME = 'CALLPLANE_KAFKA_USERNAME'
const PASSWORD = 'CALLPLANE_KAFKA_PASSWORD'

/** The application's own options, with these over them. `undefined` if neither switches Kafka on. */
export function kafkaOver(
  own: KafkaOptions | undefined,
  flag: string | undefined,
  env: CommandIo['env'],
): KafkaOptions | undefined {
  const { [USERNAME]: username, [PASSWORD]: password } = env
  // Removed from the environment, so that no handler can read it.
  delete env[PASSWORD]
  const brokers = flag === undefined ? own?.brokers : flag.split(',').map((broker) => broker.trim())
  if (!brokers) return undefined
  if ((username === undefined) !== (password === undefined)) throw usageFault(`Set both ${USERNAME} and ${PASSWORD}.`)
  const login = username !== undefined && password !== undefined && { ...own?.sasl, username, password }
  return { ...own, brokers, ...(login && { sasl: login }) }
}
