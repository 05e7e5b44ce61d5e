/** Public exports of OpenCALL. */
export { locateResult } from './answers.ts'
export { createEnvelopeCalls } from './envelope-calls.ts'
export { encodeRegistry, type RegistryDocument } from './registry-document.ts'
export { createOpenCallRoutes, refusal } from './routes.ts'
export { createOpenCallSessions } from './session.ts'
