/** Kafka as one process that is broker and controller (KRaft), with its data in a temporary folder. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { KAFKA_JARS } from './engines.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServer } from './server-process.ts'

export interface KafkaOptions {
  /** Passwords by user name. If given, clients must log in with SASL PLAIN. */
  users?: Readonly<Record<string, string>>
  /** Default: true. */
  autoCreateTopics?: boolean
  /** Further lines of `server.properties`. */
  settings?: readonly string[]
}

export interface Kafka extends ServerProcess {
  /** `host:port`, as clients want it. */
  readonly address: string
}

// Small and quick to start. A broker that lives for seconds gains nothing from the optimizing compiler.
const JAVA = ['java', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', KAFKA_JARS] as const
const LOG = 'org.slf4j.simpleLogger'
const LOG_OPTIONS = [`-D${LOG}.defaultLogLevel=error`, `-D${LOG}.log.kafka.server.KafkaRaftServer=info`]

export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-kafka-'))
  const port = await freePort()
  const config = join(folder, 'server.properties')
  const lines = properties({ folder, port, controllerPort: await freePort(), ...options })
  await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o600 })
  await formatStorage(config)
  const server = await startServer({
    command: [...JAVA, ...LOG_OPTIONS, 'kafka.Kafka', config],
    readyLine: 'Kafka Server started',
  })
  return {
    ...server,
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function properties(options: KafkaOptions & { folder: string; port: number; controllerPort: number }): string[] {
  const { folder, port, controllerPort, users, autoCreateTopics = true, settings = [] } = options
  return [
    'process.roles=broker,controller',
    'node.id=1',
    `log.dirs=${join(folder, 'data')}`,
    `listeners=CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'inter.broker.listener.name=CLIENTS',
    'controller.listener.names=CONTROLLER',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:${users ? 'SASL_PLAINTEXT' : 'PLAINTEXT'}`,
    ...(users ? loginProperties(users) : []),
    `auto.create.topics.enable=${autoCreateTopics}`,
    // Internal topics for one broker. Their default of fifty partitions slows the start down.
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=1',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'transaction.state.log.num.partitions=1',
    // A new consumer group gets its partitions at once, not after the default three seconds.
    'group.initial.rebalance.delay.ms=0',
    // The controller refuses a broker that was killed until its old session has expired, by default after nine seconds.
    'broker.session.timeout.ms=2000',
    'broker.heartbeat.interval.ms=200',
    ...settings,
  ]
}

function loginProperties(users: Readonly<Record<string, string>>): string[] {
  // The broker connects to itself with a login of its own, which nobody else knows.
  const own = randomBytes(16).toString('hex')
  const logins = Object.entries({ ...users, broker: own }).map(([name, password]) => `user_${name}="${password}"`)
  const module = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
  const login = `${module} username="broker" password="${own}" ${logins.join(' ')};`
  return [
    'sasl.enabled.mechanisms=PLAIN',
    'sasl.mechanism.inter.broker.protocol=PLAIN',
    `listener.name.clients.plain.sasl.jaas.config=${login}`,
  ]
}

async function formatStorage(config: string): Promise<void> {
  const clusterId = randomBytes(16).toString('base64url')
  // With `=`, because an id may begin with a dash.
  const format = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, `--config=${config}`]
  const [java, ...args] = JAVA
  await promisify(execFile)(java, [...args, ...LOG_OPTIONS, ...format])
}
