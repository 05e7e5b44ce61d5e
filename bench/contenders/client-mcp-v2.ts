/** The client of the second generation of the MCP TypeScript SDK, connected once, with the 2026 revision. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { addressOf, clientOf } from './client.ts'
import type { Contender } from './contender.ts'
import { ADD_TOOL, SERVER_INFO } from './mcp-sdk-tool.ts'

export const start: Contender = async (options) => {
  const client = new Client(SERVER_INFO, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(addressOf(options))))
  const add = async (a: number, b: number) => {
    const { structuredContent } = await client.callTool({ name: ADD_TOOL, arguments: { a, b } })
    return structuredContent
  }
  return clientOf(add, () => client.close())
}
