/** Runs a request listener in its own server, as a carrier that opens and closes with the others. */
import type { Carrier } from '../../core/ports/carrier.ts'
import type { RequestListener } from './listener.ts'
import {
  closeHttpServer,
  createHttpServer,
  type Listening,
  listen,
  type ServerLimits,
  type TlsFiles,
} from './server.ts'
import type { Upgrades } from './upgrades.ts'

export interface HttpCarrierOptions {
  listener: RequestListener
  host: string
  port: number
  limits?: ServerLimits
  upgrades?: Upgrades
  /** Serves HTTPS. */
  tls?: TlsFiles
  /**
   * Resolves when no call runs any more. A closing server accepts connections until then, so that a load balancer can
   * read from it that it drains.
   */
  idle?: () => Promise<unknown>
}

export function createHttpCarrier(options: HttpCarrierOptions): Carrier<Listening> {
  const { listener, host, port, limits, upgrades, tls, idle } = options
  const server = createHttpServer(listener, limits, upgrades, tls)
  return {
    listen: () => listen(server, { host, port }),
    close: (graceMs) =>
      closeHttpServer(server, graceMs, { ...(upgrades && { upgrades }), ...(idle && { idle: idle() }) }),
  }
}
