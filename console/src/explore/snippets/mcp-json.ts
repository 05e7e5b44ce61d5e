/** The message that an MCP client sends to call the tool. */
import { mcp } from '../wires/mcp.ts'
import { escapeUnseen, plainJson } from './quoting.ts'
import type { Snippet } from './snippet.ts'

export const mcpJson: Snippet = {
  id: 'mcp',
  title: 'MCP JSON',
  write({ entry, argsText, tool, idempotencyKey, files }) {
    const call = { entry, argsText: plainJson(argsText), requestId: '1', idempotencyKey, ...(tool && { tool }) }
    if (mcp.refusal(call) !== undefined || files.length > 0) return undefined
    return escapeUnseen(mcp.encode(call).body ?? '')
  },
}
