/** Calls a tool that may take its time: it answers at once, when it is asked again, or by calling back. */
export { createWebhookBackend } from './backend.ts'
export { parseWebhookSettings } from './settings.ts'
