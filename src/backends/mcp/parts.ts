/** What an import is made with, besides its settings. */
import type { JsonValue } from '../../core/json.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import type { Credential } from '../../core/ports/secrets.ts'

export interface McpParts extends BackendParts {
  /** What shows the server who we are where no call does: when it is connected and asked for its tools. */
  credential(signal: AbortSignal): Promise<Credential | undefined>
  /** For the environment of a process. */
  secret(name: string, signal: AbortSignal): Promise<string>
  /** Takes out whatever the server was shown, in case it says it again. */
  redact(value: JsonValue): JsonValue
  /** The same for what its process writes. */
  redactBytes(): ByteRedactor
}

/** One call on its way: it has its own credential, and hears what became of its request. */
export interface Sending {
  credential(): Promise<Credential | undefined>
  readonly signal: AbortSignal
  /** The request failed below the protocol. */
  failed(why: unknown): void
  /** Nothing more comes as its answer; or on another stream, if the rest of this one can be asked for. */
  ended(resumable: boolean): void
}
