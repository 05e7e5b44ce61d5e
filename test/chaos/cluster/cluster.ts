/** Three nodes with their database, objects and brokers, and everything between them that can break. */
import { createWriteStream } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { kafkaBroker, mqttBroker } from '../../engines/engines.ts'
import { freePort } from '../../engines/free-port.ts'
import { startKafka } from '../../engines/kafka.ts'
import { startMosquitto } from '../../engines/mosquitto.ts'
import { REGION, startSeaweedFs } from '../../engines/seaweedfs.ts'
import { startTool, type Tool } from '../load/tool.ts'
import { Database } from './database.ts'
import { mountDisk, type SmallDisk } from './disk.ts'
import { openLink } from './link.ts'
import { NodeProcess } from './node-process.ts'
import { openS3Front, type S3Front } from './s3-front.ts'

export const ROOT = join(import.meta.dirname, '../../..')

const OWN_IMPORTS = ['wrong-clock.ts', 'frequent-generations.ts'].map((name) => join(import.meta.dirname, name))

export interface ClusterOptions {
  /** For logs, effects, keys and the disk. */
  folder: string
  nodes: number
  /** MQTT and Kafka, if they are installed. */
  withBrokers: boolean
  diskMegabytes: number
  /** Modules that are loaded into every node. */
  imports: readonly string[]
  env: Readonly<Record<string, string>>
  standbyLagsMs?: number
  chance(): number
  say(line: string): void
  find(finding: string): void
}

export interface Cluster extends AsyncDisposable {
  readonly nodes: readonly NodeProcess[]
  readonly database: Database
  readonly disk: SmallDisk
  readonly s3: S3Front
  readonly tool: Tool
  readonly mqtt: string | undefined
  readonly kafka: string | undefined
  readonly effectsFile: string
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { folder, nodes: count, withBrokers, diskMegabytes, standbyLagsMs, say } = options
  const closing = new AsyncDisposableStack()
  try {
    // The database runs as a user without rights, who must reach its disk.
    await chmod(folder, 0o755)
    const disk = await mountDisk(join(folder, 'disk'), diskMegabytes)
    closing.defer(() => disk.remove())
    if (!disk.isSmall) say('no right to mount a disk: it will not be full')
    const database = closing.use(new Database({ disk, say, ...(standbyLagsMs !== undefined && { standbyLagsMs }) }))
    const effectsFile = join(folder, 'effects.jsonl')
    createWriteStream(effectsFile).end()
    const [, weed, broker, kafka, tool] = await Promise.all([
      database.start(),
      startSeaweedFs().then((started) => closing.use(started)),
      withBrokers && mqttBroker.missing.length === 0 && startMosquitto(BUSY).then((started) => closing.use(started)),
      withBrokers && kafkaBroker.missing.length === 0 && startKafka().then((started) => closing.use(started)),
      startTool(effectsFile).then((started) => closing.use(started)),
    ])
    const s3 = closing.use(await openS3Front(weed.port, options.chance))
    const bucket = await weed.createBucket()
    const data = join(folder, 'data')
    await mkdir(data, { recursive: true })
    const env = {
      ...options.env,
      CHAOS_EFFECTS: effectsFile,
      CHAOS_TOOL: tool.endpoint,
      CALLPLANE_SECRET_CHAOS_CALLBACK: tool.secret,
      AWS_ACCESS_KEY_ID: weed.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: weed.credentials.secretAccessKey,
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compiled'),
      ...(broker && { CHAOS_MQTT: broker.url }),
      ...(kafka && { CHAOS_KAFKA: kafka.address }),
    }
    const objects = `s3://${bucket}/chaos?region=${REGION}&endpoint=${s3.endpoint}`
    const nodes: NodeProcess[] = []
    for (let number = 0; number < count; number++) {
      const links = [await openLink(() => database.portAt(0)), await openLink(() => database.portAt(1))]
      for (const link of links) closing.use(link)
      const hosts = links.map(({ port }) => `127.0.0.1:${port}`).join(',')
      const store = `postgres://callplane@${hosts}/postgres`
      const node = new NodeProcess({
        number,
        port: await freePort(),
        links,
        root: ROOT,
        args: [
          join(ROOT, 'test/chaos/load/operations.ts'),
          ...['--data', data, '--store', store, '--objects', objects, '--no-request-log', '--log-level', 'warn'],
        ],
        env,
        imports: [...OWN_IMPORTS, ...options.imports],
        logFile: join(folder, `node-${number}.log`),
        endedByItself: (which, how) => options.find(`node ${which} ended by itself (${how}): see node-${which}.log`),
      })
      nodes.push(closing.use(node))
    }
    await Promise.all(nodes.map((node) => node.start()))
    const parts = closing.move()
    return {
      nodes,
      database,
      disk,
      s3,
      tool,
      mqtt: broker ? broker.url : undefined,
      kafka: kafka ? kafka.address : undefined,
      effectsFile,
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  } catch (thrown) {
    await closing.disposeAsync()
    throw thrown
  }
}

/** More requests than its default may wait for a node's acknowledgement. */
const BUSY = { settings: ['max_inflight_messages 200'] }
