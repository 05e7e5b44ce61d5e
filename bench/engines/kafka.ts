/** Kafka as one process that is broker and controller (KRaft), with its defaults for durability. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { cpuUsOf } from './cpu-time.ts'
import { endProgram, findProgram, type StartEngine, startProgram } from './engine.ts'

const JARS = join(import.meta.dirname, '../../.engines/kafka')
const JAVA_OPTIONS = ['-Xmx512m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=error', '-cp', join(JARS, '*')]

export const startKafka: StartEngine = async (folder) => {
  const java = findProgram('java')
  // Written when all jars are there.
  if (!java || !existsSync(join(JARS, 'made-from')))
    return { missing: 'there is no Kafka: "npm run engines" installs it' }
  const dir = join(folder, 'kafka')
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const controllerPort = await freePort()
  const config = join(dir, 'server.properties')
  const lines = [
    'process.roles=broker,controller',
    'node.id=1',
    `log.dirs=${join(dir, 'data')}`,
    `listeners=CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'inter.broker.listener.name=CLIENTS',
    'controller.listener.names=CONTROLLER',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    'listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT',
    // For one broker.
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=1',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'group.initial.rebalance.delay.ms=0',
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  const clusterId = randomBytes(16).toString('base64url')
  // With `=`, because an id may begin with a dash.
  const format = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, `--config=${config}`]
  execFileSync(java, [...JAVA_OPTIONS, ...format])
  const child = await startProgram(java, [...JAVA_OPTIONS, 'kafka.Kafka', config], port)
  return { name: 'kafka', port, cpuUs: () => cpuUsOf(child.pid ?? 0), stop: () => endProgram(child) }
}
