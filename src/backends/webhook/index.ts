/** Calls a tool that may take long: it responds immediately, to a later poll, or with a callback. */
export { createWebhookBackend } from './backend.ts'
export { parseWebhookSettings } from './settings.ts'
