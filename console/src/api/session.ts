/**
 * Who the page acts for. The session's token is in memory, and in this tab's storage if the person wants that. No
 * cookie exists. A session that ends during a call makes the call wait until the person has signed in again.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { texts } from '../texts/en/login.ts'
import type { WhoAmI } from './types.ts'

export type LoginWay = 'code' | 'token' | 'oidc' | 'none'

export type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'unreachable'; readonly error: Error }
  | { readonly kind: 'out'; readonly ways: readonly LoginWay[]; readonly oidcName?: string; readonly problem?: string }
  | { readonly kind: 'in'; readonly who: WhoAmI }

/** How a person signs in. */
export type Credential = ({ code: string; proof?: string } | { token: string }) & { readOnly?: true }

export interface SessionParts {
  base: string
  /** Asks the server who the token is for. */
  whoami(): Promise<WhoAmI>
  /** The tab's storage, if the browser allows it. */
  storage?: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined
  fetch?: typeof globalThis.fetch
}

const KEY = 'callplane.session'
/** What proves to the server that this tab began the login at the identity provider. */
const PROOF = 'callplane.proof'

export class Session {
  readonly #parts: SessionParts
  readonly #fetch: typeof globalThis.fetch
  readonly #state = signal<SessionState>({ kind: 'starting' })
  readonly #isExpired = signal(false)
  #token: string | undefined
  #renewal: PromiseWithResolvers<string | undefined> | undefined
  #ways: { ways: readonly LoginWay[]; oidcName?: string } = { ways: ['token'] }
  /** True if the token also survives a reload of this tab. */
  keep = true

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#fetch = parts.fetch ?? globalThis.fetch.bind(globalThis)
    this.#token = parts.storage?.getItem(KEY) ?? undefined
  }

  get state(): ReadonlySignal<SessionState> {
    return this.#state
  }

  /** True while the page asks the person to sign in again, above what they were doing. */
  get isExpired(): ReadonlySignal<boolean> {
    return this.#isExpired
  }

  /** How one may sign in here. */
  get ways(): readonly LoginWay[] {
    return this.#ways.ways
  }

  /** The token for a request. With the one that was refused: the next one, once the person has signed in again. */
  async token(refused?: string): Promise<string | undefined> {
    if (refused === undefined || refused !== this.#token) return this.#token
    if (this.#state.peek().kind !== 'in') return undefined
    this.#renewal ??= Promise.withResolvers()
    this.#isExpired.value = true
    return this.#renewal.promise
  }

  /**
   * Signs in with a code of a link, else with what the tab has kept, else as the server allows. `problem` says why there
   * is no code.
   */
  async start(code?: string, problem?: string): Promise<void> {
    this.#state.value = { kind: 'starting' }
    try {
      this.#ways = await this.#askWays()
      if (code !== undefined) return await this.#signInFirst({ code, ...this.#takeProof() })
      if (this.#token !== undefined || this.#ways.ways.includes('none')) return await this.#enter()
      this.#state.value = { kind: 'out', ...this.#ways, ...(problem !== undefined && { problem }) }
    } catch (thrown) {
      this.#state.value = { kind: 'unreachable', error: asError(thrown) }
    }
  }

  /** Resolves with the server's reason if it refuses. */
  async signIn(credential: Credential): Promise<string | undefined> {
    const answer = await this.#request('POST', credential)
    if (typeof answer.session !== 'string') return problemOf(answer)
    const before = this.#state.peek()
    this.#remember(answer.session)
    const who = await this.#parts.whoami()
    const isSame = before.kind === 'in' && sameCaller(before.who, who)
    this.#state.value = { kind: 'in', who }
    this.#isExpired.value = false
    // What another person began must not continue under this name.
    this.#renewal?.resolve(isSame ? answer.session : undefined)
    this.#renewal = undefined
    return undefined
  }

  async signOut(): Promise<void> {
    const token = this.#token
    this.#forget()
    this.#renewal?.resolve(undefined)
    this.#renewal = undefined
    this.#isExpired.value = false
    this.#state.value = { kind: 'out', ...this.#ways }
    if (token !== undefined) await this.#request('DELETE', undefined, token)
  }

  /** The address of the identity provider, which returns to `returnTo` with a code. */
  async oidcUrl(returnTo: string): Promise<string> {
    const response = await this.#fetch(`${this.#parts.base}/console/oidc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ returnTo }),
    })
    const { url, proof } = (await response.json()) as { url?: string; proof?: string }
    if (proof !== undefined) this.#parts.storage?.setItem(PROOF, proof)
    if (typeof url !== 'string') throw new Error(texts.noProvider)
    return url
  }

  #takeProof(): { proof?: string } {
    const proof = this.#parts.storage?.getItem(PROOF)
    this.#parts.storage?.removeItem(PROOF)
    return proof ? { proof } : {}
  }

  async #signInFirst(credential: Credential): Promise<void> {
    const problem = await this.signIn(credential)
    if (problem === undefined) return
    // A used link is not the end if this tab is signed in already.
    if (this.#token !== undefined || this.#ways.ways.includes('none')) return this.#enter()
    this.#state.value = { kind: 'out', ...this.#ways, problem }
  }

  async #enter(): Promise<void> {
    try {
      this.#state.value = { kind: 'in', who: await this.#parts.whoami() }
    } catch (thrown) {
      if (!(thrown instanceof Error && 'status' in thrown && thrown.status === 401)) throw thrown
      this.#forget()
      this.#state.value = { kind: 'out', ...this.#ways }
    }
  }

  async #askWays(): Promise<{ ways: readonly LoginWay[]; oidcName?: string }> {
    const answer = await this.#request('GET')
    const ways = Array.isArray(answer.ways) ? (answer.ways as LoginWay[]) : ['none' as const]
    const name = (answer.oidc as { name?: string } | undefined)?.name
    return { ways, ...(name !== undefined && { oidcName: name }) }
  }

  async #request(method: string, body?: object, token?: string): Promise<Record<string, unknown>> {
    const response = await this.#fetch(`${this.#parts.base}/console/session`, {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  }

  #remember(token: string): void {
    this.#token = token
    if (this.keep) this.#parts.storage?.setItem(KEY, token)
    else this.#parts.storage?.removeItem(KEY)
  }

  #forget(): void {
    this.#token = undefined
    this.#parts.storage?.removeItem(KEY)
  }
}

function sameCaller(one: WhoAmI, other: WhoAmI): boolean {
  return one.caller.owner === other.caller.owner && one.caller.tenant === other.caller.tenant
}

function problemOf(answer: Record<string, unknown>): string {
  const error = answer.error as { message?: string } | undefined
  return error?.message ?? texts.refused
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
