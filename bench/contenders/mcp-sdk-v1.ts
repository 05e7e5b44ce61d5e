/**
 * The same addition on the first generation of the MCP TypeScript SDK, stateless: a new server for every request, as
 * its transport requires, with JSON responses. It uses the low-level server, the faster of the SDK's two.
 */
import { createServer } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createChecks } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { callTool, SERVER_INFO } from './mcp-sdk-tool.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ validator }) => {
  const checks = await createChecks(validator)
  const makeServer = () => {
    const server = new Server(SERVER_INFO, { capabilities: { tools: {} } })
    // In this generation, structured content must be an object.
    server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
      callTool(checks, params, (result) => ({ structuredContent: { result } })),
    )
    return server
  }
  const listener = createServer((request, response) => {
    // Its client asks for messages of the server, of which there are none.
    if (request.method !== 'POST') return void response.writeHead(405).end()
    readText(request, async (text) => {
      const server = makeServer()
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      response.on('close', () => void server.close())
      await server.connect(transport as Transport)
      await transport.handleRequest(request, response, JSON.parse(text))
    })
  })
  return serve(listener)
}
