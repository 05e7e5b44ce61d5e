/** OXP and OTC: the protocol's public face. */
export { createOxpRoutes } from './routes.ts'
