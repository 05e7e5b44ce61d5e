/** Lines on a pair of streams, as on standard input and output: OpenCALL and MCP. Each message has its own pair. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import type { CallplaneServer } from 'callplane'
import { onTestFinished } from 'vitest'
import { META, STATELESS_VERSION } from '../../../../src/protocols/mcp/wire.ts'
import { WITH_TASKS } from '../../mcp.ts'
import type { Site } from '../../server.ts'
import { type Answered, type Carrier, envelopeWays, type Reached, unnamedWay, type Who } from './carrier.ts'

type Serve = CallplaneServer['serveMcp']

/** Writes a line on a new pair. Resolves with the first line that comes back. */
function linesOf(serve: Serve) {
  return async ({ token }: Who, message: object): Promise<Answered> => {
    const input = new PassThrough()
    const output = new PassThrough()
    const leaving = new AbortController()
    const served = serve({ input, output, signal: leaving.signal, ...(token !== undefined && { token }) })
    onTestFinished(() => {
      leaving.abort()
      return served
    })
    input.write(`${JSON.stringify(message)}\n`)
    const [line] = await once(createInterface({ input: output }), 'line')
    return JSON.parse(line)
  }
}

export const openCallLines: Carrier = { prepare: () => ({ options: {}, reach: reachLines }) }

async function reachLines({ server }: Site): Promise<Reached> {
  const write = linesOf((streams) => server.serveOpenCall(streams))
  const send: Reached['send'] = (who, envelope) => write(who, envelope)
  return { send, ways: { ...envelopeWays(send), ...unnamedWay(send) } }
}

const stateless = { [META.version]: STATELESS_VERSION, [META.capabilities]: WITH_TASKS }

/** Asks over MCP. */
function mcpLines(serve: Serve) {
  const write = linesOf(serve)
  let id = 0
  return async (who: Who, method: string, params: object, meta?: object): Promise<Answered> => {
    const { id: _, ...answer } = await write(who, {
      jsonrpc: '2.0',
      id: ++id,
      method,
      params: { ...params, ...(meta && { _meta: meta }) },
    })
    return answer
  }
}

/** The methods of MCP that replace the built-in operations of other carriers. */
const METHODS: Readonly<Record<string, (id: string) => [method: string, params: object]>> = {
  'v1:getOperation': (taskId) => ['tasks/get', { taskId }],
  'v1:cancelOperation': (taskId) => ['tasks/cancel', { taskId }],
  'v1:getChunk': (id) => ['resources/read', { uri: `callplane://results/${id}` }],
}

export const mcpOnLines: Carrier = { prepare: () => ({ options: { mcp: { administration: true } }, reach: reachMcp }) }

async function reachMcp({ server }: Site): Promise<Reached> {
  const askOn = mcpLines((streams) => server.serveMcp(streams))
  const toolCall = (name: string, args: object): [string, object] => ['tools/call', { name, arguments: args }]
  return {
    send(who, { op, args = {} }) {
      const { requestId } = args as { requestId?: string }
      const method = METHODS[op]?.(String(requestId)) ?? toolCall(op.slice(3).replaceAll('.', '_'), args)
      return askOn(who, ...method, stateless)
    },
    lists: [
      { offers: 'calls', read: (who) => askOn(who, 'tools/list', {}) },
      { offers: 'all', read: (who) => askOn(who, 'tools/list', {}, stateless) },
      { offers: 'none', read: (who) => askOn(who, 'resources/read', { uri: 'callplane://registry' }) },
    ],
    ways: {
      'a tool': ({ who, tool, args }) => askOn(who, ...toolCall(tool, args)),
      'a tool with tasks': ({ who, tool, args }) => askOn(who, ...toolCall(tool, args), stateless),
      'a tool with a version': ({ who, tool, args }) => askOn(who, ...toolCall(`${tool}_v1`, args), stateless),
    },
  }
}

/** All operations are one tool, which takes envelopes. It offers none of the server's own. */
export const mcpCallTool: Carrier = {
  prepare: () => ({ options: { mcp: { administration: true, shape: 'call' } }, reach: reachCallTool }),
}

async function reachCallTool({ server }: Site): Promise<Reached> {
  const askOn = mcpLines((streams) => server.serveMcp(streams))
  const send: Reached['send'] = (who, envelope) =>
    askOn(who, 'tools/call', { name: 'call', arguments: envelope }, stateless)
  return { send, ways: { ...envelopeWays(send), ...unnamedWay(send) } }
}
