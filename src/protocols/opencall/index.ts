/** OpenCALL: the protocol's public face. */
export { encodeRegistry, type RegistryDocument } from './registry-document.ts'
export { createOpenCallRoutes, type OpenCallParts, type OpenCallSettings, refusal } from './routes.ts'
