/** What the servers of the broker suites share: their places at the broker, their operations, and the bare reply. */
import { join } from 'node:path'
import type { Pair } from './add-checks.ts'
import { openSqliteJobs } from './durable-sqlite.ts'

/** The server's part of the broker. Each server has its own, so that all can be connected at once. */
export interface BrokerPlace {
  kind: 'mqtt' | 'kafka'
  port: number
  /** The first level of the topics. Our MQTT topics begin with `ops`, so the others have three letters, too. */
  prefix: string
}

/** The addition as an operation with side effects, which must be on disk before it runs. */
export const BOOK = 'v1:Calculator.Book'

export function mqttTopics({ prefix }: BrokerPlace) {
  return { requests: `${prefix}/+`, response: (requestId: string) => `${prefix}/${requestId}/response` }
}

export function kafkaTopics({ prefix }: BrokerPlace) {
  return { operations: `${prefix}.ops`, replies: `${prefix}.replies`, frames: `${prefix}.frames` }
}

interface Envelope {
  op: string
  args: Pair
  ctx: { requestId: string }
}

export type SendReply = (requestId: string, text: string) => void

/** Only parses the envelope and replies. `v1:Calculator.Book` is written to SQLite first, and again with its result. */
export async function openEcho(data: string): Promise<{ take(text: string, send: SendReply): void; close(): void }> {
  const jobs = await openSqliteJobs(join(data, 'echo'))
  const reply = (requestId: string, result: number) => JSON.stringify({ requestId, state: 'complete', result })
  return {
    take(text, send) {
      const { op, args, ctx } = JSON.parse(text) as Envelope
      const { requestId } = ctx
      if (op !== BOOK) send(requestId, reply(requestId, args.a + args.b))
      else void jobs.run(requestId, args).then((sum) => send(requestId, reply(requestId, sum)))
    },
    close: () => void jobs.close(),
  }
}
