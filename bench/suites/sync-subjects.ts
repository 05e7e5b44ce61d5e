/** The contenders of the sync suite, each with the bare server that does the same envelope work. */
import type { HostOptions } from '../host.ts'
import type { WireName } from '../wires.ts'

export interface Subject {
  name: string
  /** The contender that it is compared with; itself if it is a limit. */
  limit: string
  wire: WireName
  options: HostOptions
  /** Required packages; without them the contender is skipped. */
  needs?: readonly string[]
  /** True if it is a row of `--quick`. */
  main?: boolean
}

/** Each limit is next to the contenders compared with it, so that little time passes between the two in a round. */
export const SUBJECTS: readonly Subject[] = [
  { name: 'node:http', limit: 'node:http', wire: 'opencall', options: { contender: 'node-http' }, main: true },
  { name: 'callplane', limit: 'node:http', wire: 'opencall', options: { contender: 'callplane' }, main: true },
  {
    name: 'callplane auth+log',
    limit: 'node:http',
    wire: 'opencallToken',
    options: { contender: 'callplane', guarded: true, executionLog: false },
    main: true,
  },
  {
    name: 'callplane auth+log+executions',
    limit: 'node:http',
    wire: 'opencallToken',
    options: { contender: 'callplane', guarded: true },
  },
  framework('fastify', 'opencall', 'fastify'),
  framework('hono', 'opencall', 'hono', '@hono/node-server'),
  framework('express', 'opencall', 'express'),
  framework('orpc', 'orpc', '@orpc/server'),
  framework('trpc', 'trpc', '@trpc/server', '@hono/node-server'),
  bare('mcp', true),
  ours('mcp', true),
  {
    ...framework('mcp-sdk-v1', 'mcpSdkInitialized', '@modelcontextprotocol/sdk'),
    name: 'mcp sdk v1',
    limit: 'node:http mcp',
  },
  {
    ...framework('mcp-sdk-v2', 'mcpSdk', '@modelcontextprotocol/server', '@modelcontextprotocol/node'),
    name: 'mcp sdk v2',
    limit: 'node:http mcp',
  },
  bare('oxp'),
  ours('oxp'),
  bare('rest'),
  ours('rest'),
  {
    name: 'node:http zod',
    limit: 'node:http zod',
    wire: 'opencall',
    options: { contender: 'node-http', validator: 'zod' },
  },
  {
    name: 'callplane zod',
    limit: 'node:http zod',
    wire: 'opencall',
    options: { contender: 'callplane', validator: 'zod' },
  },
]

/** The contenders whose goal is a part of their limit's calls per CPU second, and these limits. */
export const HELD_TO_LIMIT: ReadonlySet<string> = new Set([
  'node:http',
  'callplane',
  'callplane auth+log',
  ...['mcp', 'oxp', 'rest'].flatMap((envelope) => [`node:http ${envelope}`, `callplane ${envelope}`]),
])

export const FRAMEWORKS: readonly string[] = ['fastify', 'hono', 'express', 'orpc', 'trpc']

export const SDKS: readonly string[] = ['mcp sdk v1', 'mcp sdk v2']

function framework(contender: HostOptions['contender'], wire: WireName, ...needs: string[]): Subject {
  return { name: contender, limit: 'node:http', wire, options: { contender }, needs, main: true }
}

type Envelope = 'oxp' | 'rest' | 'mcp'

function bare(envelope: Envelope, main = false): Subject {
  const name = `node:http ${envelope}`
  return { name, limit: name, wire: envelope, options: { contender: 'node-http', envelope }, main }
}

function ours(envelope: Envelope, main = false): Subject {
  const limit = `node:http ${envelope}`
  return { name: `callplane ${envelope}`, limit, wire: envelope, options: { contender: 'callplane' }, main }
}
