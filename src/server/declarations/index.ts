/** Tools declared in YAML. */
export { BACKEND_CHECKS } from './entry.ts'
export { type Declarations, loadDeclarations } from './load.ts'
export type { ToolImport } from './tool-import.ts'
