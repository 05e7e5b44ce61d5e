/** An operation of every kind, for the tests of generated documents. */
import { jsonSchema, operation, removed } from 'callplane'

interface Tree {
  value: number
  children?: Tree[]
}

const tree = {
  type: 'object',
  required: ['value'],
  properties: { value: { type: 'number' }, children: { type: 'array', items: { $ref: '#' } } },
}

const plant = operation('v1:trees.plant', {
  description: 'Adds the values of a tree.',
  args: jsonSchema<Tree>(tree),
  result: jsonSchema<{ sum: number }>({ type: 'object', required: ['sum'], properties: { sum: { type: 'number' } } }),
  errors: { NEGATIVE: { description: 'The sum is below 0.', remedy: 'Use larger values.' } },
  run: (args, ctx) => {
    const sum = sumOf(args)
    return sum < 0 ? ctx.fail('NEGATIVE', 'The sum is below 0.') : { sum }
  },
})

const build = operation('v2:jobs.build', {
  title: 'Builds something',
  args: jsonSchema<{ name: string }>({ type: 'object', required: ['name'], properties: { name: { type: 'string' } } }),
  result: jsonSchema<string>({ type: 'string' }),
  model: 'async',
  sideEffecting: true,
  deprecated: { sunset: '2099-12-31', replacement: 'v1:trees.plant' },
  run: ({ name }) => `built ${name}`,
})

const describeFile = operation('v1:files.describe', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain', 'image/*'], maxBytes: 100 }],
  result: jsonSchema<number>({ type: 'integer' }),
  run: async (_args, ctx) => (await ctx.media.file.bytes()).length,
})

const exportRows = operation('v1:rows.export', {
  chunked: { mimeType: 'text/csv' },
  model: 'async',
  *run() {
    yield 'a,b\n'
    yield '1,2\n'
  },
})

const draw = operation('v1:pictures.draw', {
  run: (_args, ctx) => ctx.object('<svg/>', { mimeType: 'image/svg+xml' }),
})

const watch = operation('v1:device.watch', {
  frame: jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }),
  stream: { transports: ['wss', 'sse', 'mqtt', 'kafka'], encodings: ['json', 'cbor'] },
  run: () => [{ n: 1 }, { n: 2 }],
})

/** Only callers with the scope see it. */
const secret = operation('v1:secrets.count', { internal: true, scopes: ['secrets:read'], run: () => 7 })

const gone = removed('v1:jobs.build', { on: '2026-01-01', replacement: 'v2:jobs.build' })

export const operations = [plant, build, describeFile, exportRows, draw, watch, secret, gone]

function sumOf({ value, children = [] }: Tree): number {
  return children.reduce((sum, child) => sum + sumOf(child), value)
}
