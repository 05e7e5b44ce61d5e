/** OpenCALL: the protocol's public face. */
export { encodeRegistry, type RegistryDocument } from './registry-document.ts'
export { createOpenCallRoutes, refusal } from './routes.ts'
