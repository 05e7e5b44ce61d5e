/** Public exports of OpenCALL. */
export { locateResult } from './addresses.ts'
export { createEnvelopeCalls } from './envelope-calls.ts'
export { createOpenCallRoutes, refusal } from './http/routes.ts'
export { encodeRegistry, type RegistryDocument } from './registry-document.ts'
export { createOpenCallSessions, type OpenCallSessionSettings } from './session/session.ts'
export { SOCKET_TRANSPORT } from './stream-places.ts'
export { frameTopic, operationIn, REQUEST_TOPICS, RESPONSE_TOPICS, responseTopic } from './topics.ts'
