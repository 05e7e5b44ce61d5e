/** Public exports of OXP and OTC. */
export { createOxpRoutes } from './routes.ts'
