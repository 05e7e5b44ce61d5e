/** One operation of each kind for tests with bad requests, for servers in this process and in others. */
import { operation } from 'callplane'
import { z } from 'zod'

export const add = operation('v1:Calculator.Add', {
  args: z.object({ a: z.number(), b: z.number() }),
  result: z.number(),
  run: ({ a, b }) => a + b,
})

/** Returns its arguments, so that a test sees what arrived. */
export const echo = operation('v1:Mirror.Echo', { run: (args) => args })

export const describeFile = operation('v1:Files.Describe', {
  media: [
    { name: 'file', required: true, acceptedTypes: ['text/plain', 'image/*'], maxBytes: 1_000_000 },
    { name: 'note', acceptedTypes: ['text/plain'], maxBytes: 10 },
  ],
  result: z.object({ bytes: z.int(), mimeType: z.string() }),
  async run(_args, { media }) {
    const bytes = (await media.file?.bytes()) ?? new Uint8Array()
    return { bytes: bytes.length, mimeType: media.file?.mimeType ?? '' }
  },
})

export const run = operation('v1:Jobs.Run', {
  args: z.object({ text: z.string().default('') }),
  result: z.string(),
  model: 'async',
  run: ({ text }) => text,
})

export const rows = operation('v1:Rows.Export', {
  chunked: { mimeType: 'text/csv' },
  run: () => ['a,b\n', '1,2\n'],
})

export const charge = operation('v1:Cards.Charge', {
  args: z.object({ amount: z.number() }),
  result: z.number(),
  sideEffecting: true,
  run: ({ amount }) => amount,
})

/** Its calls expire soon, which frees their space. */
export const fill = operation('v1:Jobs.Fill', {
  args: z.object({ text: z.string() }),
  model: 'async',
  ttlSeconds: 60,
  run: () => null,
})

export const make = operation('v1:Files.Make', {
  args: z.object({ bytes: z.int() }),
  ttlSeconds: 60,
  run: ({ bytes }, ctx) => ctx.object(new Uint8Array(bytes), { mimeType: 'application/octet-stream' }),
})

export const keep = operation('v1:Files.Keep', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 10_000_000 }],
  result: z.int(),
  run: async (_args, { media }) => (await media.file?.bytes())?.length ?? 0,
})

const released = Promise.withResolvers<void>()

/** All its calls write at the same time, once `v1:Rows.Release` was called. */
export const exportMany = operation('v1:Rows.ExportMany', {
  model: 'async',
  chunked: { mimeType: 'text/csv' },
  async *run() {
    await released.promise
    for (let row = 0; row < 4; row++) yield `${'x'.repeat(100_000)}\n`
  },
})

export const release = operation('v1:Rows.Release', { run: () => released.resolve() })
