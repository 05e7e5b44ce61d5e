/** Calls a tool over plain HTTP: the input is the request body, and the response is text or JSON. */
export { createHttpBackend } from './backend.ts'
export { parseHttpSettings } from './settings.ts'
