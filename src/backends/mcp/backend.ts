/** One tool of a connected server. The connection is its import's, and outlives it. */
import type { Backend } from '../../core/ports/backend.ts'
import type { McpConnection } from './connection.ts'
import { mcpTraits } from './traits.ts'

export function createMcpBackend(connection: Pick<McpConnection, 'call'>, tool: string): Backend {
  return { ...mcpTraits, execute: (args, context) => connection.call(tool, args, context) }
}
