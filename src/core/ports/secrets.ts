/** Credentials that operations refer to, and what remote tools were shown of them. */
import type { AuthBinding } from '../credential.ts'
import type { RecordChange } from './store.ts'

/** Headers (or metadata) that show a remote tool who we are. */
export interface Credential {
  readonly headers: Readonly<Record<string, string>>
  /** What a tool could repeat of them: the values, and what they stand for. Absent: the headers' values as they are. */
  readonly shown?: readonly string[]
  /** The tool has refused them. True if they were remembered and fresh ones are worth one more request. */
  refused(): boolean
}

/** Resolves the secrets that operations refer to; asked anew for each attempt. */
export interface Credentials {
  /** Whatever it resolves passes through `conceal` before it is used. */
  resolve(auth: AuthBinding, conceal: (value: string) => string, signal: AbortSignal): Promise<Credential>
}

/** What a tool was shown for a call whose answer comes later, so that it can be taken out of that answer. */
export interface Shown {
  /** Adds to what is kept for this call. */
  keep(id: string, values: readonly string[], expiresAt: number): Promise<void>
  recall(id: string): Promise<readonly string[]>
  /** Removes it: to be written with the end of the call. */
  forgetting(id: string): readonly RecordChange[]
}

/** Makes values that only this deployment can read. */
export interface Sealer {
  /** A sealed value opens only under the name it was sealed for. */
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
  /** Throws a fault that names the secret and where it was looked for. */
  resolve(name: string, signal: AbortSignal): Promise<Secret>
}
