/** The process that makes calls through a broker, a fixed number at a time. It checks every reply. */
import { answerQuestions } from './ask.ts'
import { type CallWire, type Line, runWindow, type WindowResult } from './call-window.ts'
import type { BrokerPlace } from './contenders/brokers.ts'

export interface BrokerLoadOptions {
  broker: BrokerPlace
  operation: string
  inFlight: number
  durationMs: number
}

/** A line to the server at one place. */
export interface BrokerLine extends Line {
  /** The operation that is called. On some brokers it is a part of the address. */
  operation: string
  close(): Promise<void>
}

const AUTH = { iss: 'bench', sub: 'bench', credentialType: 'none' }
const open = new Map<string, BrokerLine>()
/** Calls with side effects are stored under their ids, so no number is used twice. */
let next = 0

answerQuestions({
  async run({ broker, operation, inFlight, durationMs }: BrokerLoadOptions): Promise<WindowResult> {
    const line = open.get(broker.prefix) ?? (await openLine(broker))
    open.set(broker.prefix, line)
    line.operation = operation
    const window = await runWindow(line, wireOf(operation), { first: next, inFlight, durationMs })
    next = window.next
    return window
  },
  async stop() {
    await Promise.all([...open.values()].map((line) => line.close()))
  },
})

/** Loaded on demand, so that one suite does not need the other's library. */
async function openLine(broker: BrokerPlace): Promise<BrokerLine> {
  if (broker.kind === 'mqtt') return (await import('./mqtt-line.ts')).openMqttLine(broker)
  return (await import('./kafka-line.ts')).openKafkaLine(broker)
}

function wireOf(op: string): CallWire {
  return {
    encode: (n) => JSON.stringify({ op, args: { a: n, b: 1 }, ctx: { requestId: String(n) }, auth: AUTH }),
    decode(text) {
      const { requestId, result } = JSON.parse(text)
      return { n: Number(requestId), sum: result }
    },
  }
}
