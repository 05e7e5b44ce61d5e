/** Runs a request listener in its own server, as a carrier that opens and closes with the others. */
import type { Carrier } from '../../core/ports/carrier.ts'
import type { RequestListener } from './listener.ts'
import { closeHttpServer, createHttpServer, type Listening, listen, type ServerLimits } from './server.ts'
import type { Upgrades } from './upgrades.ts'

export interface HttpCarrierOptions {
  listener: RequestListener
  host: string
  port: number
  limits?: ServerLimits
  upgrades?: Upgrades
}

export function createHttpCarrier({ listener, host, port, limits, upgrades }: HttpCarrierOptions): Carrier<Listening> {
  const server = createHttpServer(listener, limits, upgrades)
  return {
    listen: () => listen(server, { host, port }),
    close: (graceMs) => closeHttpServer(server, graceMs, upgrades),
  }
}
