/** Operations whose responses contain every kind of link. The hosts of these tests serve them. */
import { jsonSchema, operation } from 'callplane'

const N = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })

export const operations = [
  operation('v1:math.add', {
    args: jsonSchema<{ a: number; b: number }>({
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'number' }, b: { type: 'number' } },
    }),
    run: ({ a, b }) => a + b,
  }),
  operation('v1:jobs.build', { model: 'async', run: () => 'built' }),
  operation('v1:jobs.wait', {
    model: 'async',
    run: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  }),
  operation('v1:art.draw', { run: (_args, ctx) => ctx.object('art', { mimeType: 'text/plain' }) }),
  operation('v1:files.measure', {
    media: [{ name: 'file', acceptedTypes: ['text/plain'], maxBytes: 100, required: true }],
    run: async (_args, ctx) => (await ctx.media.file?.text())?.length ?? 0,
  }),
  operation('v1:clock.tick', {
    frame: N,
    async *run() {
      for (const n of [1, 2]) yield { n }
    },
  }),
]
