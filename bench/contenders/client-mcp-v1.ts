/** The client of the first generation of the MCP TypeScript SDK, connected once. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addressOf, clientOf } from './client.ts'
import type { Contender } from './contender.ts'
import { ADD_TOOL, SERVER_INFO } from './mcp-sdk-tool.ts'

export const start: Contender = async (options) => {
  const client = new Client(SERVER_INFO)
  await client.connect(new StreamableHTTPClientTransport(new URL(addressOf(options))) as Transport)
  const add = async (a: number, b: number) => {
    const { structuredContent } = await client.callTool({ name: ADD_TOOL, arguments: { a, b } })
    return (structuredContent as { result?: unknown } | undefined)?.result
  }
  return clientOf(add, () => client.close())
}
