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
  /** Passwords by user name. If given, clients must log in with SASL. */
  users?: Readonly<Record<string, string>>
  /** How they log in. Default: PLAIN. */
  mechanism?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  /** If given, clients must use TLS. In PEM. */
  tls?: { cert: string; key: string }
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
  // The broker connects to itself with a login of its own, which nobody else knows.
  const users = options.users && { ...options.users, broker: randomBytes(16).toString('hex') }
  const own = { folder, port, controllerPort: await freePort(), ...(users && { users }) }
  const lines = properties({ ...options, ...own })
  await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o600 })
  if (options.tls) await writeFile(join(folder, 'key.pem'), options.tls.key + options.tls.cert, { mode: 0o600 })
  if (options.tls) await writeFile(join(folder, 'cert.pem'), options.tls.cert)
  await formatStorage(config, { ...options, ...own })
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
  const { folder, port, controllerPort, users, mechanism = 'PLAIN', tls, autoCreateTopics = true } = options
  const protocol = `${users ? 'SASL_' : ''}${tls ? 'SSL' : 'PLAINTEXT'}`
  return [
    'process.roles=broker,controller',
    'node.id=1',
    `log.dirs=${join(folder, 'data')}`,
    `listeners=CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'inter.broker.listener.name=CLIENTS',
    'controller.listener.names=CONTROLLER',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:${protocol}`,
    ...(users ? loginProperties(users, mechanism) : []),
    ...(tls ? tlsProperties(folder) : []),
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
    ...(options.settings ?? []),
  ]
}

function loginProperties(users: Readonly<Record<string, string>>, mechanism: string): string[] {
  const isPlain = mechanism === 'PLAIN'
  const logins = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
  const module = isPlain ? 'plain.PlainLoginModule' : 'scram.ScramLoginModule'
  const own = `org.apache.kafka.common.security.${module} required username="broker" password="${users.broker}"`
  return [
    `sasl.enabled.mechanisms=${mechanism}`,
    `sasl.mechanism.inter.broker.protocol=${mechanism}`,
    `listener.name.clients.${mechanism.toLowerCase()}.sasl.jaas.config=${own} ${isPlain ? logins.join(' ') : ''};`,
  ]
}

function tlsProperties(folder: string): string[] {
  return [
    'ssl.keystore.type=PEM',
    `ssl.keystore.location=${join(folder, 'key.pem')}`,
    'ssl.truststore.type=PEM',
    `ssl.truststore.location=${join(folder, 'cert.pem')}`,
  ]
}

/** The storage holds the users of SCRAM, with their hashed passwords. */
async function formatStorage(config: string, { users = {}, mechanism = 'PLAIN' }: KafkaOptions): Promise<void> {
  const clusterId = randomBytes(16).toString('base64url')
  // With `=`, because an id may begin with a dash.
  const format = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, `--config=${config}`]
  const scram = mechanism === 'PLAIN' ? [] : Object.entries(users)
  const logins = scram.map(([name, password]) => `--add-scram=${mechanism}=[name=${name},password=${password}]`)
  const [java, ...args] = JAVA
  await promisify(execFile)(java, [...args, ...LOG_OPTIONS, ...format, ...logins])
}
