/** The quickstart plus operations with unusual schemas. hostile-requests.test.ts runs it as a child. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { z } from 'zod'
import * as quickstart from '../../examples/quickstart/operations.ts'

const rule = {
  anyOf: [
    { properties: { and: { type: 'array', items: { $ref: '#/$defs/rule' } } }, required: ['and'] },
    { properties: { or: { type: 'array', items: { $ref: '#/$defs/rule' } } }, required: ['or'] },
    { properties: { is: { enum: [1, 'x', null] } }, required: ['is'] },
  ],
}
const awkward = [
  operation('v1:Awkward.Rules', {
    args: { type: 'object', $defs: { rule }, properties: { rule: { $ref: '#/$defs/rule' } } },
    run: (args) => args,
  }),
  operation('v1:Awkward.Names', {
    args: z.looseObject({
      names: z.array(z.unknown()).optional(),
      text: z
        .string()
        .regex(/^(a+)+$/)
        .optional(),
    }),
    run: (args) => args,
  }),
]

const data = mkdtempSync(join(tmpdir(), 'callplane-hostile-'))
const operations = [...Object.values(quickstart), ...awkward]
const server = await createServer({ operations, data, rest: { allowExecute: true } })
const { url } = await server.listen({ port: 0 })

process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.resourceUsage().maxRSS }))
process.on('disconnect', () => {
  rmSync(data, { recursive: true, force: true })
  process.exit(0)
})
process.send?.({ url })
