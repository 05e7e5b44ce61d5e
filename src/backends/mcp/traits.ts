/** The traits of this backend kind, which the server reads without loading the backend. */
import type { BackendTraits } from '../../core/ports/backend.ts'

export const mcpTraits: BackendTraits = {
  kind: 'mcp',
  usesAuth: true,
  insteadOfBackend: 'Tools of an MCP server are imported: import: { kind: mcp, url: …, as: "v1:github.*" }.',
}
