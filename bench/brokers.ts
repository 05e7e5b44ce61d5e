/** Starts a broker, the servers that are its clients, and the process that calls them through it. */
import { join } from 'node:path'
import type { WindowResult } from './call-window.ts'
import type { BrokerPlace } from './contenders/brokers.ts'
import type { StartEngine } from './engines/engine.ts'
import { startKafka } from './engines/kafka.ts'
import { startMosquitto } from './engines/mosquitto.ts'
import { type Host, startBrokerLoad, startHost } from './processes.ts'

export type BrokerKind = BrokerPlace['kind']

export interface BrokerSample {
  /** The server's CPU time per call. */
  cpuUs: number
  perSecond: number
}

export interface Brokers {
  readonly bare: Host
  readonly callplane: Host
  /** Calls this operation of the server for a time. */
  sample(host: Host, operation: string, durationMs: number): Promise<BrokerSample>
  stop(): Promise<void>
}

const ENGINES: Readonly<Record<BrokerKind, StartEngine>> = { mqtt: startMosquitto, kafka: startKafka }

/** Calls at a time. A batch of Kafka takes longer, so that fewer would mostly wait. */
export const IN_FLIGHT: Readonly<Record<BrokerKind, number>> = { mqtt: 64, kafka: 256 }

export async function startBrokers(kind: BrokerKind, folder: string): Promise<Brokers> {
  const engine = await ENGINES[kind](folder)
  if ('missing' in engine) throw new Error(engine.missing)
  const load = startBrokerLoad()
  const hosts = new Map<Host, BrokerPlace>()
  const start = async (name: string, contender: `brokers-${BrokerKind | 'callplane'}`, prefix: string) => {
    const broker = { kind, port: engine.port, prefix }
    if (kind === 'kafka') await (await import('./kafka-topics.ts')).createKafkaTopics(broker)
    const host = await startHost(name, { contender, broker, data: join(folder, `${kind}-${prefix}`) })
    hosts.set(host, broker)
    return host
  }
  const stop = async () => {
    await Promise.all([load.stop(), ...[...hosts.keys()].map((host) => host.stop())])
    await engine.stop()
  }
  try {
    const bare = await start('bare client', `brokers-${kind}`, 'bar')
    const callplane = await start('callplane', 'brokers-callplane', 'ops')
    return {
      bare,
      callplane,
      stop,
      async sample(host, operation, durationMs) {
        const broker = hosts.get(host) as BrokerPlace
        const before = await host.cpuUs()
        const result = await load.run({ broker, operation, inFlight: IN_FLIGHT[kind], durationMs })
        const cpuUs = (await host.cpuUs()) - before
        requireRight(host, result)
        return { cpuUs: cpuUs / result.calls, perSecond: (result.calls * 1000) / result.elapsedMs }
      },
    }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

function requireRight({ name }: Host, { calls, wrong, firstWrong }: WindowResult): void {
  if (wrong > 0) throw new Error(`${name}: ${wrong} replies are wrong: ${firstWrong}`)
  if (calls === 0) throw new Error(`${name}: no call was answered.`)
}
