/** Calls a tool that implements the Tool Contract. */
export { createExternalBackend } from './backend.ts'
export { parseExternalSettings } from './settings.ts'
