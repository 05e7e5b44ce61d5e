/** One-time codes: a link with one of them logs a person in, once, within ten minutes. The store keeps their hashes. */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../core/call/caller.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'

const CODE_MS = 600_000
/** 128 bits: the link should fit on one line of a terminal. */
const CODE_BYTES = 16
/** Tells a code from a token, where a person pastes either. */
const MARK = 'cpc_'

export interface CodeGrant {
  caller: Caller
  readOnly?: boolean
  /** The hash of the secret that the page got when it started the login. */
  proofHash?: string
}

export interface LoginCode {
  code: string
  expiresAt: string
}

export class LoginCodes {
  readonly #records: Pick<Records, 'put' | 'take'>
  readonly #env: Pick<Environment, 'clock' | 'digest'>

  constructor(records: Pick<Records, 'put' | 'take'>, env: Pick<Environment, 'clock' | 'digest'>) {
    this.#records = records
    this.#env = env
  }

  async create(grant: CodeGrant): Promise<LoginCode> {
    const code = MARK + randomBytes(CODE_BYTES).toString('base64url')
    const expiresAt = this.#env.clock.now() + CODE_MS
    await this.#records.put(this.#key(code), JSON.stringify(grant), expiresAt)
    return { code, expiresAt: new Date(expiresAt).toISOString() }
  }

  /** If two requests have the same code, only one gets the grant. `undefined` for a code that is not valid. */
  async take(code: string): Promise<CodeGrant | undefined> {
    const text = await this.#records.take(this.#key(code))
    return text === undefined ? undefined : (JSON.parse(text) as CodeGrant)
  }

  #key(code: string): string {
    return `console/code/${this.#env.digest(code)}`
  }
}
