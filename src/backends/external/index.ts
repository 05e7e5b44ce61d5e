/** Calls a tool that speaks the Tool Contract itself. */
export { createExternalBackend } from './backend.ts'
export { parseExternalSettings } from './settings.ts'
