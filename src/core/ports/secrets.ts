/** The ports for credentials that operations refer to, and for the credentials that remote tools have received. */
import type { AuthBinding } from '../operation/credential.ts'
import type { RecordChange } from './store.ts'

/** Headers (or metadata) that authenticate this server to a remote tool. */
export interface Credential {
  readonly headers: Readonly<Record<string, string>>
  /**
   * The secret values that a tool could repeat: the header values, and the secrets behind them. Default: the header
   * values.
   */
  readonly shown?: readonly string[]
  /**
   * The tool has refused the headers. True if they came from a cache, so that one more request with new ones is
   * worthwhile.
   */
  refused(): boolean
}

/** Resolves the secrets that operations refer to. Called for each attempt. */
export interface Credentials {
  /** Every resolved value passes through `conceal` before it is used. */
  resolve(auth: AuthBinding, conceal: (value: string) => string, signal: AbortSignal): Promise<Credential>
}

/**
 * The secret values that a tool received for a call whose callback comes later. The server redacts them from the
 * callback.
 */
export interface Shown {
  /** Adds values to those kept for this call. */
  keep(id: string, values: readonly string[], expiresAt: number): Promise<void>
  recall(id: string): Promise<readonly string[]>
  /** The records that remove the values. The engine writes them with the end of the call. */
  forgetting(id: string): readonly RecordChange[]
}

/** Encrypts values so that only this deployment can read them. */
export interface Sealer {
  /** A sealed value can be opened only under the name it was sealed for. */
  seal(name: string, value: string): string
  /** Throws a fault if the value is damaged, or sealed with a key that this node does not have. */
  open(name: string, sealed: string): string
}

/** One value, or several by name, or both. */
export interface Secret {
  value?: string
  fields?: Readonly<Record<string, string>>
}

export interface SecretSource {
  /** Throws a fault that names the secret and the places that were searched. */
  resolve(name: string, signal: AbortSignal): Promise<Secret>
}
