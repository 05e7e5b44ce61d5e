/**
 * Logging in at an OpenID provider. The server is the client: the provider's tokens stay here, and the page gets a
 * one-time code. Without a cookie, the page proves with a secret of its own that it began this login, so that nobody can
 * log another person in as themselves.
 */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../core/call/caller.ts'
import { Buckets } from '../../core/fairness/buckets.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import type { OidcClient, OidcRequest } from '../../security/identity/oidc.ts'
import type { LoginCodes } from './codes.ts'
import { tooMany } from './sessions.ts'

export const CALLBACK = '/console/oidc/callback'
/** How long a person may take at the provider. */
const PENDING_MS = 600_000
/** For the whole node. A caller without a credential may begin a login, and each one is stored until it is over. */
const BEGINNINGS = { capacity: 100, msPerToken: 100 }
/** A place in the console. Anything else could lead to another site. */
const PLACE = /^(?:#\/[\x21-\x7e]{0,2000})?$/

export interface OidcLoginParts {
  client: OidcClient
  name: string
  /** `undefined` if this person may not log in. */
  callerOf(claims: JsonObject): Caller | undefined | Promise<Caller | undefined>
  codes: LoginCodes
  records: Pick<Records, 'put' | 'take'>
  env: Pick<Environment, 'clock' | 'digest' | 'log'>
}

interface Pending extends OidcRequest {
  returnTo: string
  readOnly: boolean
  proofHash: string
}

export class OidcLogin {
  readonly #parts: OidcLoginParts
  readonly #beginnings: Buckets

  constructor(parts: OidcLoginParts) {
    this.#parts = parts
    this.#beginnings = new Buckets(BEGINNINGS, parts.env.clock)
  }

  get name(): string {
    return this.#parts.name
  }

  /** `origin` is the server's address as the person reached it. */
  async begin(origin: string, returnTo: string, readOnly: boolean): Promise<{ url: string; proof: string }> {
    if (!PLACE.test(returnTo))
      throw new Fault('malformed', '"returnTo" must be a place in the console, such as #/runs.')
    const waitMs = this.#beginnings.take('')
    if (waitMs > 0) throw tooMany(waitMs)
    const { client, env, records } = this.#parts
    const [state, nonce, verifier, proof] = [unguessable(), unguessable(), unguessable(), unguessable()]
    const request: OidcRequest = { state, nonce, verifier, redirectUri: origin + CALLBACK }
    const url = await client.authorizationUrl(request)
    const pending: Pending = { ...request, returnTo, readOnly, proofHash: env.digest(proof) }
    await records.put(this.#key(state), JSON.stringify(pending), env.clock.now() + PENDING_MS)
    return { url, proof }
  }

  /** Returns the place in the console where the person continues. It contains a code, or says what went wrong. */
  async complete(query: string): Promise<string> {
    const answer = new URLSearchParams(query)
    const { env, records } = this.#parts
    const text = await records.take(this.#key(answer.get('state') ?? ''))
    if (text === undefined) return place({ error: 'expired' })
    const { returnTo, readOnly, proofHash, ...request } = JSON.parse(text) as Pending
    const to: Record<string, string> = returnTo === '' ? {} : { to: returnTo }
    if (answer.get('error') === 'access_denied') return place({ error: 'denied', ...to })
    try {
      const caller = await this.#parts.callerOf(await this.#parts.client.identify(answer, request))
      if (!caller) return place({ error: 'forbidden', ...to })
      const { code } = await this.#parts.codes.create({ caller, proofHash, ...(readOnly && { readOnly }) })
      return place({ code, ...to })
    } catch (err) {
      env.log.warn({ err }, 'a login at the OpenID provider was not completed')
      return place({ error: 'failed', ...to })
    }
  }

  #key(state: string): string {
    return `console/oidc/${this.#parts.env.digest(state)}`
  }
}

function place(parameters: Record<string, string>): string {
  return `#/login?${new URLSearchParams(parameters)}`
}

function unguessable(): string {
  return randomBytes(32).toString('base64url')
}
