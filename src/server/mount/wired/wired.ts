/**
 * The carriers of messages and frames that an option switches on, such as a broker's. Each is one file in this folder
 * and one entry in `index.ts`. It is prepared before the engine, because the registry names its transport, and opened
 * when calls can be made.
 */
import type { UpgradeClaim } from '../../../carriers/http/index.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Calls } from '../../../core/ports/calls.ts'
import type { Carrier } from '../../../core/ports/carrier.ts'
import type { Refuse, Route } from '../../../core/ports/exchange.ts'
import type { StreamTransport } from '../../../core/ports/frames.ts'
import type { Identify, Presented } from '../../../core/ports/guard.ts'
import type { Environment, Log } from '../../../core/ports/runtime.ts'
import type { OpenSession } from '../../../core/ports/session.ts'
import type { OpenCallSessionSettings } from '../../../protocols/opencall/index.ts'
import type { SiteOptions } from '../../../wire/http/site-rules.ts'
import type { Sizes } from '../../options/options.ts'
import type { LogRequest } from '../request-log.ts'

/** How a carrier is: for `/ready` and the metrics. */
export interface CarrierState {
  connected: boolean
  /** For people: what is wrong, and what the server does about it. */
  detail?: string
}

export interface WiredParts {
  env: Environment
  sizes: Sizes
  /** For readers that connect to a stream. */
  calls: Pick<Calls, 'readStream'>
  /** Identifies the caller. */
  identify: (presented: Presented) => Identify
  /** Opens OpenCALL on a connection of this carrier. */
  session(settings?: Pick<OpenCallSessionSettings, 'redelivers' | 'requiresAuth'>): OpenSession
  /** `http://host:port` at which clients reach this server over HTTP. */
  origin(): string
  /** The routes of the server, for carriers of HTTP exchanges. */
  routes: readonly Route[]
  /** Which HTTP requests are accepted, and how they are logged, for carriers of HTTP exchanges. */
  site: SiteOptions & { fallback: Refuse; basePath?: string; log: Log; served?: LogRequest }
}

export interface OpenWired extends Carrier<unknown> {
  /** The upgrade requests that the carrier handles on the HTTP port. */
  readonly upgrades?: readonly UpgradeClaim[]
}

export interface WiredCarrier {
  /** For logs, `/ready` and metrics. */
  readonly name: string
  /** Present if readers can receive frames over it. */
  readonly transport?: StreamTransport
  /** Called once, when calls can be made. */
  open(parts: WiredParts): OpenWired
  /**
   * Sends the message about a request id to a place that the carrier gave with a connection (`Connection.replyTo`), under
   * its own name. Absent if the carrier gives none.
   */
  sendLate?(place: JsonObject, message: string, about: string, signal: AbortSignal): Promise<void>
  /** Absent if the carrier is there whenever the HTTP port is. */
  state?(): CarrierState
  /** The value of the header `Alt-Svc` on HTTP responses, if clients can use this carrier instead. */
  altSvc?(): string | undefined
  /** Its own numbers at `/metrics`. */
  readonly readings?: readonly CarrierReading[]
}

export interface CarrierReading {
  /** Without the prefix `callplane_{carrier}_`. The name of a counter ends in `_total`. */
  name: string
  help: string
  type: 'gauge' | 'counter'
  read(): number
}
