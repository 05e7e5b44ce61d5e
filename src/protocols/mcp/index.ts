/** Public exports of the Model Context Protocol. */

export { isStreamTool, TaskStreams } from './calls/task-streams.ts'
export type { McpParts } from './methods.ts'
export { createMcpRoutes } from './routes.ts'
export { createMcpSessions } from './sessions/session.ts'
export type { McpPrompt, McpResource } from './tools/offers.ts'
