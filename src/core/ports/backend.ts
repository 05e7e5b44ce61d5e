/** The port for backends. A backend runs one attempt of one operation. */
import type { BackendContext } from '../call/context.ts'
import type { JsonValue } from '../json.ts'
import type { BackendSpec } from '../operation/operation.ts'
import type { RemoteAddress, RemoteClient } from './outbound.ts'
import type { Clock, Log } from './runtime.ts'

/**
 * The properties of a kind of backend. The rest of the server decides by these members, never by the name of a kind.
 */
export interface BackendTraits {
  readonly kind: string
  /** Its code can reach nothing but its input: no files, no network, bounded memory and time. */
  readonly isolated?: boolean
  /** It sends its tool the credential that `auth` declares. Without this, an operation with `auth` is refused. */
  readonly usesAuth?: boolean
  /** For a kind that does not use `auth`: what to configure instead. The refusal contains this text. */
  readonly insteadOfAuth?: string
  /** For a kind that an operation cannot name as its backend: what to write instead. The refusal contains this text. */
  readonly insteadOfBackend?: string
}

/**
 * Runs one attempt. The engine checks the return value against the result schema before a caller sees it. A `Deferred`
 * leaves the call waiting.
 */
export interface Backend extends BackendTraits {
  /** What it runs, for operators: an address, an image or a file. It contains no secret. */
  readonly about?: string
  /** For a tool of another server: that server's name here, and the tool's name there. */
  readonly imported?: { readonly from: string; readonly tool: string }
  /** The name of the secret that signs callbacks. Without one, the server accepts no callbacks. */
  readonly callbackSecret?: string
  /** Its calls are always recorded, because their callbacks may come after a restart. */
  readonly durable?: boolean
  execute(args: unknown, context: BackendContext): unknown
  /** Resumes a call that was left waiting, or that was interrupted after it had announced a callback. */
  resume?(waiting: JsonValue, args: unknown, context: BackendContext): unknown
  /** A waiting call has ended without its callback. Notifies the remote side on a best-effort basis. */
  abandon?(waiting: JsonValue, context: BackendContext): Promise<void>
  /** Closes connections, processes and threads. */
  close?(): Promise<void>
}

/** What every kind of backend receives besides its own settings. */
export interface BackendParts {
  readonly clock: Clock
  readonly log: Log
  readonly remote: RemoteClient
  /** Paths in a declaration are relative to this folder. */
  readonly folder: string
  /** For backends with their own connections: resolves a host. Throws a fault if the rules forbid connections to it. */
  lookup?(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]>
}

/** One kind of backend that a declaration can name. */
export interface BackendKind {
  /** Throws a fault whose message starts with the field that is wrong. */
  parse(spec: BackendSpec): unknown
  create(spec: BackendSpec, parts: BackendParts): Backend
}
