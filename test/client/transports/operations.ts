/** The operations that every transport of the client is tested with. */
import { operation } from 'callplane'
import { z } from 'zod'
import { createGate } from '../../scenarios/server.ts'

/** New operations for each test, with what the test sees of them. */
export function createOperations() {
  const gate = createGate<number>()
  const seen = { charges: [] as string[], sessions: [] as (string | undefined)[], isStreaming: false }
  const getItem = operation('v1:orders.getItem', {
    args: z.object({ id: z.string() }),
    result: z.object({ name: z.string() }),
    run: ({ id }, ctx) => (id === 'none' ? ctx.fail('NO_ITEM', 'There is no such item.') : { name: `item ${id}` }),
  })
  /** Takes effect, reports progress, and ends when the gate opens. */
  const charge = operation('v1:orders.charge', {
    args: z.object({ id: z.string() }),
    result: z.object({ amount: z.number() }),
    model: 'async',
    sideEffecting: true,
    async run({ id }, ctx) {
      seen.charges.push(id)
      ctx.progress(0.5, 'half way')
      const aborted = new Promise<never>((_, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason), { once: true })
      })
      return { amount: await Promise.race([gate.pass(), aborted]) }
    },
  })
  /** The same, but the caller waits for it. */
  const pay = operation('v1:orders.pay', {
    args: z.object({ id: z.string() }),
    result: z.number(),
    sideEffecting: true,
    maxSyncMs: 60_000,
    run({ id }) {
      seen.charges.push(id)
      return gate.pass()
    },
  })
  const exportRows = operation('v1:orders.export', {
    args: z.object({ rows: z.number() }),
    chunked: { mimeType: 'text/csv' },
    async *run({ rows }) {
      for (let row = 0; row < rows; row++) yield `${row},é\n`
    },
  })
  const watch = operation('v1:device.watch', {
    args: z.object({ to: z.number() }),
    frame: z.object({ n: z.number() }),
    stream: { integrity: 'crc32' },
    async *run({ to }, ctx) {
      seen.isStreaming = true
      seen.sessions.push(ctx.sessionId)
      try {
        for (let n = 1; n <= to; n++) {
          yield { n }
          if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
          // From here on as a device: a broker would queue a flood, and its end behind it.
          if (n > 1_000) await new Promise((resolve) => setTimeout(resolve, 5))
        }
        if (to === 0) return ctx.fail('NO_DEVICE', 'There is no such device.')
        if (to === 3) await gate.pass()
      } finally {
        seen.isStreaming = false
      }
    },
  })
  const command = operation('v1:device.command', {
    args: z.object({ text: z.string() }),
    result: z.string(),
    run({ text }, ctx) {
      seen.sessions.push(ctx.sessionId)
      return text.toUpperCase()
    },
  })
  const operations = [getItem, charge, pay, exportRows, watch, command] as const
  return { operations, gate, seen }
}

export type Operations = ReturnType<typeof createOperations>['operations']
