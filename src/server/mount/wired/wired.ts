/**
 * The carriers of messages and frames that an option switches on, such as a broker's. Each is one file in this folder
 * and one entry in `index.ts`. It is prepared before the engine, because the registry names its transport, and opened
 * when calls can be made.
 */
import type { Carrier } from '../../../core/ports/carrier.ts'
import type { Refuse, Route } from '../../../core/ports/exchange.ts'
import type { StreamTransport } from '../../../core/ports/frames.ts'
import type { Environment, Log } from '../../../core/ports/runtime.ts'
import type { OpenSession } from '../../../core/ports/session.ts'
import type { OpenCallSessionSettings } from '../../../protocols/opencall/index.ts'
import type { SiteOptions } from '../../../wire/http/site-rules.ts'
import type { Sizes } from '../../options/options.ts'

/** How a carrier is: for `/ready` and the metrics. */
export interface CarrierState {
  connected: boolean
  /** For people: what is wrong, and what the server does about it. */
  detail?: string
}

export interface WiredParts {
  env: Environment
  sizes: Sizes
  /** Opens OpenCALL on a connection of this carrier. */
  session(settings?: Pick<OpenCallSessionSettings, 'redelivers' | 'requiresAuth'>): OpenSession
  /** `http://host:port` at which clients reach this server over HTTP. */
  origin(): string
  /** The routes of the server, for carriers of HTTP exchanges. */
  routes: readonly Route[]
  /** Which HTTP requests are accepted, for carriers of HTTP exchanges. */
  site: SiteOptions & { fallback: Refuse; basePath?: string; log: Log }
}

export interface WiredCarrier {
  /** For logs, `/ready` and metrics. */
  readonly name: string
  /** Present if readers can receive frames over it. */
  readonly transport?: StreamTransport
  /** Called once, when calls can be made. */
  open(parts: WiredParts): Carrier<unknown>
  state(): CarrierState
  /** The value of the header `Alt-Svc` on HTTP responses, if clients can use this carrier instead. */
  altSvc?(): string | undefined
}
