/** Public exports of the Tool Execution API. */
export { refusalAnswer, UNAUTHORIZED } from './answers.ts'
export { encodeResult, notAnObject, text } from './codec.ts'
export { createOperationTools } from './operation-tools.ts'
export type { PageSettings } from './page.ts'
export { createExplorerRoutes, createToolRoutes, type ToolHost } from './routes.ts'
export type { CallToolResult, Content, ToolAnnotations, ValidateResult, ValidationFailure } from './wire.ts'
