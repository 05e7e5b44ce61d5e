/**
 * The same addition on the MCP TypeScript SDK of the second generation: `createMcpHandler`, which builds a server for
 * every request, in the revision of 2026 only. The low-level server is used because it is the faster of its two.
 */
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { createChecks } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { callTool, SERVER_INFO } from './mcp-sdk-tool.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

/** Its type has no `undefined` where node:http's has. */
type Incoming = Parameters<ReturnType<typeof toNodeHandler>>[0]

export const start: Contender = async ({ validator }) => {
  const checks = await createChecks(validator)
  const makeServer = () => {
    const server = new Server(SERVER_INFO, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/call', ({ params }) =>
      callTool(checks, params, (result) => ({ structuredContent: result })),
    )
    return server
  }
  const handle = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject' }))
  const listener = createServer((request, response) => {
    readText(request, (text) => void handle(request as Incoming, response, JSON.parse(text)))
  })
  return serve(listener)
}
