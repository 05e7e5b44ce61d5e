/**
 * The same addition on the second generation of the MCP TypeScript SDK: `createMcpHandler`, which builds a server for
 * every request, limited to the 2026 revision. It uses the low-level server, the faster of the SDK's two.
 */
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { createChecks } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { callTool, SERVER_INFO } from './mcp-sdk-tool.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

/** The SDK's request type does not allow `undefined` in fields where node:http's type does. */
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
