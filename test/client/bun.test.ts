/** The client in Bun, from its sources. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { BUN, describeWith, jsRuntimes } from '../engines/engines.ts'
import { startSite } from '../scenarios/server.ts'

vi.setConfig({ testTimeout: 60_000 })

export const operations = [
  operation('v1:math.add', {
    args: z.object({ a: z.number(), b: z.number() }),
    result: z.number(),
    run: ({ a, b }, ctx) => (a < 0 ? ctx.fail('NEGATIVE', 'Only positive numbers.') : a + b),
  }),
  operation('v1:reports.generate', {
    args: z.object({ steps: z.number() }),
    result: z.object({ rows: z.number() }),
    model: 'async',
    run: ({ steps }) => ({ rows: steps }),
  }),
  operation('v1:orders.export', {
    args: z.object({ rows: z.number() }),
    chunked: { mimeType: 'text/csv' },
    ttlSeconds: 60,
    async *run({ rows }) {
      for (let row = 0; row < rows; row++) yield `row ${row}\n`
    },
  }),
  operation('v1:files.describe', {
    media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 1_000_000 }],
    result: z.object({ bytes: z.number() }),
    run: async (_args, ctx) => ({ bytes: (await ctx.media.file.bytes()).length }),
  }),
  operation('v1:clock.count', {
    args: z.object({ to: z.number() }),
    frame: z.object({ n: z.number() }),
    stream: { integrity: 'crc32' },
    async *run({ to }) {
      for (let n = 1; n <= to; n++) yield { n }
    },
  }),
] as const

describeWith(jsRuntimes, 'Bun', () => {
  test('calls, waits, downloads, uploads and reads a stream', async () => {
    const { url } = await startSite({ operations: [...operations] })

    const { stdout } = await promisify(execFile)(BUN, [join(import.meta.dirname, 'bun-program.ts'), url])

    expect(JSON.parse(stdout)).toEqual({
      sum: 3,
      fault: true,
      rows: 3,
      text: 'row 0\nrow 1\n',
      upload: { bytes: 5 },
      frames: [1, 2, 3, 4],
    })
  })
})
