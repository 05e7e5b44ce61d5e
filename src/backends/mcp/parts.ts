/** The dependencies of an import. */
import type { JsonValue } from '../../core/json.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import type { Credential } from '../../core/ports/secrets.ts'

export interface McpParts extends BackendParts {
  /** The credential for requests that belong to no call: the handshake and the list of tools. */
  credential(signal: AbortSignal): Promise<Credential | undefined>
  /** Reads a secret for the environment of a process. */
  secret(name: string, signal: AbortSignal): Promise<string>
  /** Removes the secrets and credentials that the server received from a value that it returned. */
  redact(value: JsonValue): JsonValue
  /** Does the same for the output of its process. */
  redactBytes(): ByteRedactor
}

/** One call in progress: it has its own credential and learns the outcome of its request. */
export interface Sending {
  credential(): Promise<Credential | undefined>
  readonly signal: AbortSignal
  /** The request failed below the protocol. */
  failed(why: unknown): void
  /** The response stream ended. If `resumable`, the rest may arrive on another stream. */
  ended(resumable: boolean): void
}
