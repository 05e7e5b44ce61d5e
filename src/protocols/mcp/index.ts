/** The Model Context Protocol: the protocol's public face. */
export type { McpParts } from './methods.ts'
export type { McpPrompt, McpResource } from './offers.ts'
export { createMcpRoutes } from './routes.ts'
export { createMcpSession } from './session.ts'
