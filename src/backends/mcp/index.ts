/** Imports the tools of MCP servers as operations. */
export { createMcpBackend } from './backend.ts'
export { McpConnection, type Tool } from './connection.ts'
export { defineTool } from './definition.ts'
export type { McpParts } from './parts.ts'
export { type McpSettings, parseMcpSettings } from './settings.ts'
