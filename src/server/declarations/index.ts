/** Tools declared in YAML. */
export { type Declarations, loadDeclarations } from './load.ts'
export type { ToolImport } from './tool-import.ts'
