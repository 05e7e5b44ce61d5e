/** OpenCALL: the protocol's public face. */
export { createOpenCallRoutes, type OpenCallParts, type OpenCallSettings, refusal } from './routes.ts'
