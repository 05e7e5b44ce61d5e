/** A server whose schemas make hostile input expensive to validate. costly-validation.test.ts runs it as a child. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer, importTools, jsonSchema, operation } from 'callplane'
import * as v from 'valibot'
import { z } from 'zod'

const run = () => null

/** Recursive rules: each level tries each alternative on the level below. */
const rules = {
  $defs: {
    rule: {
      anyOf: [
        { type: 'object', properties: { and: { type: 'array', items: { $ref: '#/$defs/rule' } } }, required: ['and'] },
        { type: 'object', properties: { and: { type: 'array', items: { $ref: '#/$defs/rule' } } }, required: ['or'] },
        { type: 'object', properties: { and: { $ref: '#/$defs/rule' } }, required: ['not'] },
        {
          type: 'object',
          properties: { and: { type: 'array', items: { $ref: '#/$defs/rule' } }, is: true },
          required: ['is'],
        },
      ],
    },
  },
  type: 'object',
  properties: { rule: { $ref: '#/$defs/rule' } },
}

/**
 * The same for a validator that stops at the first problem: the children come before the name that selects the
 * alternative.
 */
const kid = { properties: { kids: { type: 'array', items: { $ref: '#/$defs/kid' } } } }
const either = {
  $defs: { kid: { anyOf: ['a', 'b', 'c'].map((name) => ({ allOf: [kid, { required: [name] }] })) } },
  properties: { tree: { $ref: '#/$defs/kid' } },
}

/** Each definition uses the next one twice, so thirty of them cause a billion checks. */
const doubling = {
  type: 'object',
  properties: { n: { $ref: '#/$defs/d0' } },
  $defs: Object.fromEntries(
    Array.from({ length: 31 }, (_, at) => {
      const next = at === 30 ? { type: 'string' } : { $ref: `#/$defs/d${at + 1}` }
      return [`d${at}`, { anyOf: [next, next] }]
    }),
  ),
}

const listOf = (items: object) => ({ properties: { list: { type: 'array', items } } })
const kinds = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ properties: { kind: { const: `k${at}` } }, required: ['kind'] }))

/** The first alternative fits all levels. A validator that also tries the others tries three per level. */
const chain = { $ref: '#/$defs/chain' }
const chains = {
  $defs: {
    chain: {
      anyOf: [
        { type: 'object', properties: { a: chain }, required: ['a'] },
        { type: 'object', properties: { a: chain, b: chain } },
        { type: 'object', properties: { a: chain, c: chain } },
        { type: 'null' },
      ],
    },
  },
  properties: { chain },
}

/** The field that selects the operator comes after the operands. */
const term = { $ref: '#/$defs/term' }
const terms = {
  $defs: {
    term: {
      anyOf: [
        { type: 'number' },
        ...['add', 'sub', 'div', 'mul'].map((op) => ({
          type: 'object',
          properties: { left: term, right: term, op: { const: op } },
          required: ['left', 'right', 'op'],
        })),
      ],
    },
  },
  properties: { term },
}

interface Tree {
  kids?: Tree[]
}
const zodEither: z.ZodType<Tree> = z.lazy(() =>
  z.union([
    z.object({ kids: z.array(zodEither), a: z.number() }),
    z.object({ kids: z.array(zodEither), b: z.number() }),
    z.object({ kids: z.array(zodEither), c: z.number() }),
  ]),
)

const operations = [
  operation('v1:plain.rules', { args: rules, run }),
  operation('v1:plain.either', { args: either, run }),
  operation('v1:plain.doubling', { args: doubling, run }),
  operation('v1:plain.unique', { args: { properties: { list: { type: 'array', uniqueItems: true } } }, run }),
  operation('v1:plain.pattern', { args: { properties: { text: { type: 'string', pattern: '^(a+)+$' } } }, run }),
  operation('v1:plain.looking', { args: { properties: { text: { type: 'string', pattern: '^(?=(a+)+$)a' } } }, run }),
  operation('v1:plain.names', {
    args: { patternProperties: { '^(a+)+$': { type: 'string' } }, additionalProperties: false },
    run,
  }),
  operation('v1:plain.url', { args: { properties: { text: { type: 'string', format: 'url' } } }, run }),
  operation('v1:plain.contains', {
    args: {
      properties: { list: { contains: { anyOf: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => ({ const: number })) } } },
    },
    run,
  }),
  operation('v1:plain.enum', { args: listOf({ enum: Array.from({ length: 5_000 }, (_, at) => `value${at}`) }), run }),
  operation('v1:plain.kinds300', { args: listOf({ anyOf: kinds(300) }), run }),
  operation('v1:plain.one300', { args: listOf({ oneOf: kinds(300) }), run }),
  operation('v1:plain.kinds5000', { args: listOf({ anyOf: kinds(5_000) }), run }),
  operation('v1:plain.chains', { args: chains, run }),
  operation('v1:plain.terms', { args: terms, run }),
  operation('v1:zod.points', {
    args: z.object({ list: z.array(z.object({ x: z.number(), y: z.number(), z: z.number() })) }),
    run,
  }),
  operation('v1:zod.pattern', { args: z.object({ text: z.string().regex(/^(a+)+$/) }), run }),
  operation('v1:zod.either', { args: z.object({ tree: zodEither }), run }),
  operation('v1:valibot.pattern', { args: v.object({ text: v.pipe(v.string(), v.regex(/^(a+)+$/)) }), run }),
  operation('v1:result.pattern', {
    args: jsonSchema<{ text: string }>({ type: 'object' }),
    result: { type: 'string', pattern: '^(a+)+$' },
    public: true,
    run: ({ text }) => text,
  }),
]

/**
 * An upstream MCP server: its schema has a pattern, and its result has a text that makes the pattern backtrack
 * endlessly.
 */
const HOSTILE: Record<string, (params: { protocolVersion?: string }) => unknown> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion ?? '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'hostile', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: [
      {
        name: 'hang',
        annotations: { readOnlyHint: true },
        inputSchema: { type: 'object' },
        outputSchema: { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } },
      },
    ],
  }),
  'tools/call': () => ({
    content: [{ type: 'text', text: 'x' }],
    structuredContent: { text: `${'a'.repeat(60)}!` },
  }),
}
const hostile = createHttpServer(async (request, response) => {
  const { id, method, params = {} } = JSON.parse((await text(request)) || '{}')
  if (id === undefined) {
    response.writeHead(202).end()
    return
  }
  const result = HOSTILE[method]?.(params)
  const outcome = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  response
    .writeHead(200, { 'Content-Type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
})
await once(hostile.listen(0, '127.0.0.1'), 'listening')
const imports = [
  importTools({
    kind: 'mcp',
    as: 'v1:hostile.*',
    url: `http://127.0.0.1:${(hostile.address() as AddressInfo).port}/`,
    allowPrivate: true,
  }),
]

const data = mkdtempSync(join(tmpdir(), 'callplane-attack-'))
const server = await createServer({ operations, imports, data, rest: { allowExecute: true } })
const { url } = await server.listen({ port: 0 })

process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.resourceUsage().maxRSS }))
process.on('disconnect', () => {
  rmSync(data, { recursive: true, force: true })
  process.exit(0)
})
process.send?.({ url })
