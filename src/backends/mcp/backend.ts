/** One tool of a connected MCP server. The import owns the connection, which outlives this backend. */
import type { Backend } from '../../core/ports/backend.ts'
import type { McpConnection } from './connection.ts'
import { mcpTraits } from './traits.ts'

/** `from` is the namespace of the imported tools. */
export function createMcpBackend(connection: Pick<McpConnection, 'call'>, tool: string, from: string): Backend {
  return { ...mcpTraits, imported: { from, tool }, execute: (args, context) => connection.call(tool, args, context) }
}
