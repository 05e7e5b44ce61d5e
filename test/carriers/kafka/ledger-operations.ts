/**
 * Operations for the server that is killed: each run leaves a line in the file that LEDGER names, and goes on for a
 * while, so that a kill interrupts it.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { jsonSchema, operation } from 'callplane'
import { PEER_TOKEN } from './peer.ts'

const args = jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'integer' } } })

const [w0, w1, w2, w3, w4, w5, w6, w7] = Array.from({ length: 8 }, (_, index) =>
  operation(`v1:ledger.write${index}`, {
    args,
    model: 'async',
    async run({ n }, { requestId }) {
      appendFileSync(process.env.LEDGER as string, `${n} ${requestId}\n`)
      await setTimeout(2_000)
      return n
    },
  }),
)

export { w0, w1, w2, w3, w4, w5, w6, w7 }

export const server = {
  auth: { tokens: [PEER_TOKEN] },
  work: { leaseMs: 3_000, claimEveryMs: 500 },
  kafka: { brokers: ['127.0.0.1:1'], group: 'killed', sessionTimeoutMs: 6_000 },
}
