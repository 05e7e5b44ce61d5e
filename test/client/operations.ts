/** Operations of each kind, for the tests of the client in several runtimes. */
import { operation } from 'callplane'
import { z } from 'zod'

export const add = operation('v1:math.add', {
  args: z.object({ a: z.number(), b: z.number() }),
  result: z.number(),
  run: ({ a, b }, ctx) => (a < 0 ? ctx.fail('NEGATIVE', 'Only positive numbers.') : a + b),
})

export const report = operation('v1:reports.generate', {
  args: z.object({ steps: z.number() }),
  result: z.object({ rows: z.number() }),
  model: 'async',
  run: ({ steps }) => ({ rows: steps }),
})

export const exportOrders = operation('v1:orders.export', {
  args: z.object({ rows: z.number() }),
  chunked: { mimeType: 'text/csv' },
  ttlSeconds: 60,
  async *run({ rows }) {
    for (let row = 0; row < rows; row++) yield `row ${row}\n`
  },
})

export const describeFile = operation('v1:files.describe', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 1_000_000 }],
  result: z.object({ bytes: z.number(), type: z.string(), name: z.string().optional() }),
  run: async (_args, ctx) => {
    const { file } = ctx.media
    return { bytes: (await file.bytes()).length, type: file.mimeType, name: file.filename }
  },
})

export const count = operation('v1:clock.count', {
  args: z.object({ to: z.number() }),
  frame: z.object({ n: z.number() }),
  stream: { integrity: 'crc32' },
  async *run({ to }) {
    for (let n = 1; n <= to; n++) yield { n }
  },
})
