/**
 * For a caller without its scopes, an operation of the server is not there, over every protocol: the answer is that to a
 * name that does not exist.
 */
import { expect, test } from 'vitest'
import { parseName, toolIdOf } from '../../../src/core/operation/names.ts'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { openSocket } from '../../carriers/websocket/client.ts'
import { request } from '../../protocols/contract/host.ts'
import { grpcPeer } from '../../protocols/contract/peer.ts'
import { ask, askOlder, WITH_TASKS } from '../mcp.ts'
import type { Site } from '../server.ts'
import {
  ALLOWED,
  expectListed,
  foundOver,
  type OperationList,
  openScopedSite,
  opensFor,
  ownOf,
  type Person,
  PLAIN,
  type Seen,
  STRANGERS,
  type Try,
  toolOf,
  withoutChance,
} from './scopes.ts'

interface TryAt extends Try {
  site: Site
  grpcUrl: string
}

async function openSite() {
  const lines: LogLine[] = []
  const { site, people } = await openScopedSite({ grpc: { port: 0 }, log: createMemoryLog(lines) })
  const { port } = lines.map(({ fields }) => fields as { port?: number }).find((fields) => fields.port) ?? {}
  return { site, people, grpcUrl: `http://127.0.0.1:${port}` }
}

async function post({ site, who }: TryAt, path: string, body: object | FormData, more: object = {}): Promise<Seen> {
  const isForm = body instanceof FormData
  const response = await site.request(path, {
    method: 'POST',
    headers: { ...(!isForm && { 'Content-Type': 'application/json' }), ...who.headers, ...more },
    body: isForm ? body : JSON.stringify(body),
  })
  const { date: _, ...headers } = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: await response.text() }
}

function form({ op, args }: Try): FormData {
  const body = new FormData()
  body.set('envelope', new Blob([JSON.stringify({ op, args, ctx: CTX })], { type: 'application/json' }))
  return body
}

const CHECK = 'v1:callplane.calls.check'
const CTX = { requestId: 'r', idempotencyKey: 'k' }
const path = ({ op }: Pick<Try, 'op'>) => op.slice(3).replaceAll('.', '/')
/** As OXP and OTC name it: `callplane.calls_list`. */
const toolId = ({ op }: Pick<Try, 'op'>) => toolIdOf(parseName(op), '')

/** Calls an operation, and returns all that the caller sees of the answer. */
type Wire = (of: TryAt) => Promise<Seen>

/** These offer the operations of the server to callers with their scopes. */
const OFFERING: Readonly<Record<string, Wire>> = {
  OpenCALL: (of) => post(of, '/call', { op: of.op, args: of.args, ctx: CTX }),
  'OpenCALL without a key': (of) => post(of, '/call', { op: of.op, args: of.args, ctx: { requestId: 'r' } }),
  'OpenCALL with a version': (of) => post(of, '/call', { op: `${of.op}@1.0.0`, args: of.args, ctx: CTX }),
  'OpenCALL with parts': (of) => post(of, '/call', form(of)),
  'OpenCALL by path': (of) => post(of, `/ops/${path(of)}/v1`, { args: of.args, ctx: CTX }),
  WebSocket: async ({ site, who, op, args }) => {
    const query = who.token === undefined ? '' : `?access_token=${who.token}`
    const socket = await openSocket(`${site.url}/call${query}`).catch(({ message }: Error) => message)
    // A wrong credential is refused before any operation is named.
    if (typeof socket === 'string') return socket
    socket.call(op, args, CTX)
    const seen = await socket.envelope()
    socket.socket.terminate()
    return seen
  },
  'a client in the process': async ({ site, who, op, args }) => {
    const client = site.server.client({ subject: who.subject, scopes: who.scopes })
    return client.call(op, args as never, { requestId: 'r', idempotencyKey: 'k' } as never).then(
      (result) => ({ result }),
      ({ code, message }: Error & { code: string }) => ({ code, message }),
    )
  },
  'a check': (of) => post(of, '/call', { op: CHECK, args: { op: of.op, args: of.args }, ctx: { requestId: 'r' } }),
  'a check with a version': (of) =>
    post(of, '/call', { op: CHECK, args: { op: `${of.op}@1.0.0`, args: of.args }, ctx: { requestId: 'r' } }),
  'the handler of another operation': (of) =>
    post(of, '/call', { op: PLAIN, args: { op: of.op, args: of.args }, ctx: { requestId: 'r' } }),
  MCP: async ({ site, who, tool, args }) =>
    seenIn(await askOlder(site, 'tools/call', { name: tool, arguments: args }, who.headers)),
  'MCP without a state': async ({ site, who, tool, args }) =>
    seenIn(await ask(site, 'tools/call', { name: tool, arguments: args }, { headers: who.headers })),
  'MCP with a version': async ({ site, who, tool, args }) =>
    seenIn(await askOlder(site, 'tools/call', { name: `${tool}_v1`, arguments: args }, who.headers)),
  'MCP with tasks': async ({ site, who, tool, args }) =>
    seenIn(
      await ask(
        site,
        'tools/call',
        { name: tool, arguments: args },
        { headers: who.headers, capabilities: WITH_TASKS },
      ),
    ),
}

/** In these protocols every operation is a tool for models, so they offer none of the server's own. */
const CLOSED: Readonly<Record<string, Wire>> = {
  OXP: (of) => post(of, '/tools/call', { tool_id: toolId(of), call_id: 'c', input: of.args }),
  'OXP with a version': (of) => post(of, '/tools/call', { tool_id: `${toolId(of)}@1.0.0`, input: of.args }),
  OTC: (of) => post(of, '/otc/tools/call', { request: { tool_id: toolId(of), call_id: 'c', input: of.args } }),
  'Tool Execution': (of) => post(of, `/tools/${of.tool}/call`, of.args, { 'Idempotency-Key': 'k' }),
  'Tool Execution, validation': (of) => post(of, `/tools/${of.tool}/validate`, of.args),
  'Tool Execution with a version': (of) => post(of, `/tools/${of.tool}_v1/call`, of.args),
  'Tool Execution, description': async ({ site, tool, who }) => (await site.request(`/tools/${tool}`, who)).text(),
  explorer: (of) => post(of, `/explorer/tools/${of.tool}/call`, of.args),
  'Tool Contract': (of) => post(of, '/tool-contract/v1/execute', request('r', of.tool, { input: of.args })),
  'Tool Contract, jobs': (of) => post(of, '/tool-contract/v1/jobs', request('r', of.tool, { input: of.args })),
  gRPC: ({ grpcUrl, who, tool, args }) =>
    grpcPeer(grpcUrl)(request('r', tool, { input: args }), { headers: who.headers }).catch(({ code, message }) => ({
      code,
      message,
    })),
}

function seenIn({ status, json }: { status: number; json: unknown }): Seen {
  return { status, json } as object
}

/** Who finds which operation over this wire. */
async function finders(wire: Wire): Promise<string[]> {
  const { site, people, grpcUrl } = await openSite()
  return foundOver(site, people, (of) => wire({ site, grpcUrl, ...of }))
}

test.each(Object.entries(OFFERING))('%s shows an operation to the holders of its scope alone', async (_, wire) => {
  expect(await finders(wire)).toEqual(ALLOWED)
})

test.each(Object.entries(CLOSED))('%s shows no operation of the server to anybody', async (_, wire) => {
  expect(await finders(wire)).toEqual([])
})

/** Everything that lists operations, and which of the server's it lists. */
const LISTS: Readonly<
  Record<string, Pick<OperationList, 'offers'> & { read: (site: Site, who: Person) => Promise<Seen> }>
> = {
  '/.well-known/ops': { offers: 'all', read: get('/.well-known/ops') },
  '/openapi.json': { offers: 'all', read: get('/openapi.json') },
  'tools/list of MCP': { offers: 'calls', read: async (site, who) => mcp(site, who, 'tools/list', {}) },
  'tools/list of MCP with tasks': {
    offers: 'all',
    read: async (site, { headers }) => seenIn(await ask(site, 'tools/list', {}, { headers, capabilities: WITH_TASKS })),
  },
  'the registry as a resource of MCP': {
    offers: 'none',
    read: (site, who) => mcp(site, who, 'resources/read', { uri: 'callplane://registry' }),
  },
  'the list of OXP': { offers: 'none', read: get('/tools') },
  'the list of OTC': { offers: 'none', read: get('/otc/tools') },
  'the list of Tool Execution': { offers: 'none', read: get('/explorer/tools') },
  'the page of the explorer': { offers: 'none', read: get('/explorer/') },
  'the list of errors': { offers: 'none', read: get('/.well-known/errors') },
  'v1:callplane.faults.list': {
    offers: 'none',
    read: async (site, { headers }) => {
      const { body } = await site.call('v1:callplane.faults.list', {}, {}, { headers })
      return { faults: body.result }
    },
  },
}

function get(path: string) {
  return async (site: Site, who: Person): Promise<Seen> => {
    const response = await site.request(path, { headers: who.headers })
    if (!STRANGERS.includes(who)) expect([path, response.status]).toEqual([path, 200])
    return response.text()
  }
}

const mcp = async (site: Site, { headers }: Person, method: string, params: object) =>
  seenIn(await askOlder(site, method, params, { 'MCP-Protocol-Version': '2025-11-25', ...headers }))

test.each(Object.entries(LISTS))('%s names no operation to a caller without its scope', async (_, { offers, read }) => {
  const { site, people } = await openSite()
  await expectListed(site, people, { offers, read: (who) => read(site, who) })
})

test('the details of an operation are for those who may call it', async () => {
  const { site, people } = await openSite()
  const reader = people.find(({ subject }) => subject === 'read') as Person
  for (const version of ['', '@1.0.0']) {
    const detailsOf = async (op: string) => {
      const args = { op: op + version }
      const { body } = await site.call('v1:callplane.operations.get', args, CTX, { headers: reader.headers })
      return withoutChance(body, { op, tool: toolOf(op) })
    }
    const nothing = await detailsOf('v1:callplane.calls.nothing')
    const shown: string[] = []
    for (const { op } of ownOf(site)) if ((await detailsOf(op)) !== nothing) shown.push(op)
    expect(shown.sort()).toEqual(opensFor('read').sort())
  }
})
