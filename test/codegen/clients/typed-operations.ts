/** Operations for the programs that use the types of a generated client: our own, and those of the guide. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { z } from 'zod'
import * as quickstart from '../../../examples/quickstart/operations.ts'
import { blocksIn } from '../../docs/pages.ts'

const child = z.object({ name: z.string() })

export const TYPED_OPERATIONS = [
  operation('v1:orders.find', {
    args: z.object({ orderId: z.string(), color: z.enum(['red', 'blue']).optional() }),
    result: z.object({ name: z.string(), note: z.string().nullable(), children: z.array(child).optional() }),
    run({ orderId, color }, ctx) {
      if (orderId === 'none') return ctx.fail('ORDER_NOT_FOUND', 'There is no such order.')
      return { name: `order ${orderId}`, note: null, children: color ? [{ name: color }] : [] }
    },
  }),
  operation('v2:orders.find', {
    args: z.object({ orderId: z.int() }),
    result: z.number(),
    run: ({ orderId }) => orderId,
  }),
  operation('v1:orders.old', {
    args: z.object({ orderId: z.string() }),
    result: z.null(),
    deprecated: { sunset: '2099-12-31', replacement: 'v1:orders.find' },
    run: () => null,
  }),
  operation('v1:reports.make', { result: z.int(), model: 'async', ttlSeconds: 600, run: () => 41 }),
  operation('v1:numbers.count', {
    args: z.object({ to: z.int() }),
    frame: z.object({ n: z.int() }),
    ttlSeconds: 600,
    async *run({ to }) {
      for (let n = 1; n <= to; n++) yield { n }
    },
  }),
  operation('v1:files.export', {
    chunked: { mimeType: 'text/plain' },
    ttlSeconds: 600,
    async *run() {
      yield 'exported'
    },
  }),
  operation('v1:files.describe', {
    media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 1000 }],
    result: z.int(),
    async run(_args, ctx) {
      let bytes = 0
      for await (const piece of ctx.media.file?.stream() ?? []) bytes += piece.length
      return bytes
    },
  }),
  operation('v1:shapes.echo', {
    args: z.object({ 'a-b': z.int(), class: z.null() }),
    result: z.object({ 'a-b': z.int() }),
    run: (args) => ({ 'a-b': args['a-b'] }),
  }),
]

const NOTICE = 'v1:orders.old is deprecated and ends on 2099-12-31. Use v1:orders.find instead.'

/** What each program prints. */
export const TYPED_TOLD = [
  'order 7',
  null,
  ['red'],
  42,
  1,
  2,
  'exported',
  5,
  8.5,
  1,
  'ORDER_NOT_FOUND',
  'MEDIA_TOO_LARGE',
  NOTICE,
]
/** What the asynchronous client of Python adds. */
export const TYPED_TOLD_ASYNC = ['order 7', 41, 1, 'exported']

const GUIDE = 'docs/guides/generate-languages.md'

export const GUIDE_OPERATIONS = Object.values(quickstart)

/** The programs of the guide in one language, for a server at this address. */
export function guidePrograms(language: string, url: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../..', GUIDE), 'utf8')
  const blocks = blocksIn(GUIDE, text).filter((block) => block.language === language)
  return blocks.map(({ code }) => code.replaceAll('http://127.0.0.1:4747', url))
}
