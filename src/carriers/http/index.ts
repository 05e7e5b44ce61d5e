/** The HTTP carrier on node:http: a request listener for routes, and a server for it. */

export { LOOPBACK_HOSTS } from '../../wire/http/site-rules.ts'
export { createHttpCarrier } from './carrier.ts'
export { createRequestListener, type ListenerOptions, type RequestListener } from './listener.ts'
export {
  closeHttpServer,
  createHttpServer,
  type Listening,
  listen,
  MAX_CONNECTIONS,
  type ServerLimits,
} from './server.ts'
export { type UpgradeClaim, Upgrades } from './upgrades.ts'
