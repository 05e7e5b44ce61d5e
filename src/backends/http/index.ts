/** Calls a tool by plain HTTP: its input is the body, and text or JSON comes back. */
export { createHttpBackend } from './backend.ts'
export { parseHttpSettings } from './settings.ts'
