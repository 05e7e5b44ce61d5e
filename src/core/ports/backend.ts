/** What a backend must implement: it runs one attempt of one operation. */
import type { BackendContext } from '../context.ts'
import type { JsonValue } from '../json.ts'
import type { RemoteAddress, RemoteClient } from './outbound.ts'
import type { Clock, Log } from './runtime.ts'

/**
 * Runs one attempt. What it returns is checked against the result schema before anybody sees it; a `Deferred` leaves
 * the call waiting.
 */
export interface Backend {
  readonly kind: string
  /** What it runs can reach nothing but its input: no files, no network, bounded memory and time. */
  readonly isolated?: boolean
  /** The name of the secret that signs answers from outside; without one, none are taken. */
  readonly callbackSecret?: string
  /** Where it can show nobody a credential: what to do instead of declaring `auth`. Such a declaration is refused. */
  readonly refusesAuth?: string
  /** Its calls are recorded whatever their operation says, because their answers may come after a restart. */
  readonly durable?: boolean
  execute(args: unknown, context: BackendContext): unknown
  /** Takes up a call that was left waiting, or cut off after it had announced an answer from outside. */
  resume?(waiting: JsonValue, args: unknown, context: BackendContext): unknown
  /** A call that was left waiting has ended without its answer: tells the other side, as well as it can. */
  abandon?(waiting: JsonValue, context: BackendContext): Promise<void>
  /** Lets go of connections, processes and threads. */
  close?(): Promise<void>
}

/** What every kind of backend is made with, besides its own settings. */
export interface BackendParts {
  readonly clock: Clock
  readonly log: Log
  readonly remote: RemoteClient
  /** Paths in a declaration are relative to it. */
  readonly folder: string
  /** For backends with connections of their own: where a host is, or a fault if one must not connect there. */
  lookup?(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]>
}
