/** What a backend must implement: it runs one attempt of one operation. */
import type { BackendContext } from '../context.ts'
import type { JsonValue } from '../json.ts'
import type { BackendSpec } from '../operation.ts'
import type { RemoteAddress, RemoteClient } from './outbound.ts'
import type { Clock, Log } from './runtime.ts'

/**
 * What a backend says about its kind. The rest of the server decides by these members, never by the name of a kind.
 */
export interface BackendTraits {
  readonly kind: string
  /** What it runs can reach nothing but its input: no files, no network, bounded memory and time. */
  readonly isolated?: boolean
  /** It shows its tool the credential that `auth` declares. Without this, an operation with `auth` is refused. */
  readonly usesAuth?: boolean
  /** For a kind that does not use `auth`: what to write instead. It becomes part of the refusal. */
  readonly insteadOfAuth?: string
}

/**
 * Runs one attempt. What it returns is checked against the result schema before anybody sees it; a `Deferred` leaves
 * the call waiting.
 */
export interface Backend extends BackendTraits {
  /** The name of the secret that signs answers from outside; without one, none are taken. */
  readonly callbackSecret?: string
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

/** One kind of backend that a declaration can name. */
export interface BackendKind {
  /** Throws a fault whose message starts with the field that is wrong. */
  parse(spec: BackendSpec): unknown
  create(spec: BackendSpec, parts: BackendParts): Backend
}
