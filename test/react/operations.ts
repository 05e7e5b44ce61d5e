/** The operations that the pages of these tests call. */
import { setTimeout as pause } from 'node:timers/promises'
import { operation } from 'callplane'
import { z } from 'zod'

export const getItem = operation('v1:orders.getItem', {
  args: z.object({ id: z.string() }),
  result: z.object({ name: z.string() }),
  run: ({ id }, ctx) => (id === 'none' ? ctx.fail('NO_ITEM', 'There is no such item.') : { name: `item ${id}` }),
})

export const report = operation('v1:reports.generate', {
  args: z.object({ steps: z.number() }),
  result: z.object({ rows: z.number() }),
  model: 'async',
  async run({ steps }, ctx) {
    for (let step = 1; step <= steps; step++) {
      ctx.progress(step / steps)
      await pause(20, undefined, { signal: ctx.signal })
    }
    return { rows: steps }
  },
})

/** Streams that run now. */
export const watched = { streams: 0 }

export const count = operation('v1:clock.count', {
  args: z.object({ to: z.number() }),
  frame: z.object({ n: z.number() }),
  async *run({ to }, ctx) {
    watched.streams++
    try {
      for (let n = 1; n <= to; n++) yield { n }
      if (to > 100) await pause(60_000, undefined, { signal: ctx.signal })
    } finally {
      watched.streams--
    }
  },
})
