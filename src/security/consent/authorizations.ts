/**
 * Authorizations that people give at other services: creates challenges, completes them, and returns the tokens. The
 * engine knows which calls need one, and a protocol presents the challenge.
 */
import { randomBytes } from 'node:crypto'
import { ANONYMOUS, type Caller, ownerOf } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { AuthorizationNeed } from '../../core/operation/requirements.ts'
import type { AuthorizationChallenge, Authorizations } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Vault, VaultChange } from '../secrets/vault.ts'
import { covers, createGrants, type Grants } from './grants.ts'
import type { OAuthClient, OAuthClients } from './oauth.ts'
import type { CodeRequest } from './provider-client.ts'

export interface AuthorizationService extends Authorizations {
  /** Takes the query of the provider's redirect. Resolves to true if the person authorized what was needed. */
  complete(query: string): Promise<boolean>
  /** The status of a challenge. An unknown, expired or unreadable challenge has failed. Never throws. */
  status(challenge: string): Promise<ChallengeStatus>
}

export type ChallengeStatus = 'pending' | 'completed' | 'failed'

export interface AuthorizationParts {
  env: Environment
  vault: Vault
  /** True if all callers without a credential are the same person, as on a laptop without authentication. */
  anonymous: boolean
}

export const CALLBACK_PATH = '/authorizations/callback'

/** The stored state of a challenge until the provider's redirect arrives. */
interface Question extends CodeRequest {
  provider: string
  holder: string
  challenge: string
  asked: readonly string[]
  needed: readonly string[]
}

interface Pending {
  challenge: string
  url: string
}

const CHALLENGE_MS = 600_000
/** A pending challenge is reused while at least half of its time is left. */
const REUSE_MS = CHALLENGE_MS / 2
/** How long the outcome of a challenge can be read. */
const OUTCOME_MS = 3_600_000
/** The person has decided, and the server requests the token from the provider. */
const COMPLETING = 'completing'
/** Longer than a provider takes. */
const COMPLETING_MS = 60_000

export function createAuthorizations(clients: OAuthClients, parts: AuthorizationParts): AuthorizationService {
  return new PersonalAuthorizations(clients, parts)
}

class PersonalAuthorizations implements AuthorizationService {
  readonly #clients: OAuthClients
  readonly #env: Environment
  readonly #vault: Vault
  readonly #grants: Grants
  readonly #anonymous: boolean

  constructor(clients: OAuthClients, { env, vault, anonymous }: AuthorizationParts) {
    this.#clients = clients
    this.#env = env
    this.#vault = vault
    this.#grants = createGrants(env, vault)
    this.#anonymous = anonymous
  }

  async token(caller: Caller, id: string, scopes: readonly string[]): Promise<string | undefined> {
    const found = await this.#held(caller, id, scopes)
    if (!found) return undefined
    const { holder, held, client } = found
    const fresh = await this.#grants.fresh(holder, held, client)
    return fresh && covers(fresh.scopes, scopes) ? fresh.accessToken : undefined
  }

  async holds(caller: Caller, id: string, scopes: readonly string[]): Promise<boolean> {
    return (await this.#held(caller, id, scopes)) !== undefined
  }

  /** The stored grant, if it covers these scopes. */
  async #held(caller: Caller, id: string, scopes: readonly string[]) {
    const client = this.#clients.get(id)
    if (!client || !this.#mayHold(caller)) return undefined
    const holder = this.#holder(caller, id)
    const held = await this.#grants.get(holder)
    return held && covers(held.scopes, scopes) ? { holder, held, client } : undefined
  }

  refused(caller: Caller, id: string, token: string): Promise<void> {
    return this.#grants.expire(this.#holder(caller, id), token)
  }

  async challenge(
    caller: Caller,
    needs: readonly AuthorizationNeed[],
    origin: string,
  ): Promise<readonly AuthorizationChallenge[]> {
    if (!this.#mayHold(caller)) {
      const message = 'This operation acts on behalf of a person. Send a credential that identifies the person.'
      throw new Fault('unauthenticated', message)
    }
    const known = merge(needs).flatMap((need) => {
      const client = this.#clients.get(need.id)
      return client ? [{ need, client }] : []
    })
    return Promise.all(
      known.map(async ({ need, client }) => {
        const { challenge, url } = await this.#ask(caller, need, client, origin)
        return { id: need.id, url, checkUrl: `${origin}/authorizations/${challenge}/status` }
      }),
    )
  }

  async #ask(caller: Caller, need: AuthorizationNeed, client: OAuthClient, origin: string): Promise<Pending> {
    const { id, scopes: needed = [] } = need
    const holder = this.#holder(caller, id)
    const held = await this.#grants.get(holder)
    // The held scopes are requested again. Otherwise two operations with different needs would replace each other's
    // grants forever.
    const asked = [...new Set([...client.scopes, ...(held?.scopes ?? []), ...needed])].sort()
    const redirectUri = client.redirectUri ?? `${origin}${CALLBACK_PATH}`
    const pendingKey = `pending/${this.#hash([holder, asked, needed, redirectUri])}`
    const pending = await this.#read<Pending>(pendingKey)
    if (pending && (await this.#progress(pending.challenge)) === 'pending') return pending

    const request = { state: unguessable(), verifier: unguessable(), redirectUri }
    const challenge = unguessable()
    const url = await client.authorizationUrl(request, asked)
    const question: Question = { ...request, provider: id, holder, challenge, asked, needed }
    await this.#vault.write([
      this.#kept(this.#stateKey(request.state), question, CHALLENGE_MS),
      this.#kept(this.#challengeKey(challenge), 'pending', CHALLENGE_MS),
      this.#kept(pendingKey, { challenge, url }, REUSE_MS),
    ])
    return { challenge, url }
  }

  async complete(query: string): Promise<boolean> {
    const { log } = this.#env
    const answer = new URLSearchParams(query)
    const question = await this.#take(this.#stateKey(answer.get('state') ?? ''))
    if (!question) return false
    const { provider, challenge } = question
    try {
      const enough = await this.#accept(question, answer)
      log.info({ provider, enough }, 'an authorization was completed')
      return enough
    } catch (err) {
      await this.#vault.write([this.#outcome(challenge, 'failed')])
      log.warn({ provider, err }, 'an authorization was not completed')
      return false
    }
  }

  /**
   * A redirect is accepted once. From then on this challenge is not reused, and if the server stops before it has the
   * token, the challenge fails after `COMPLETING_MS`.
   */
  async #take(stateKey: string): Promise<Question | undefined> {
    const question = await this.#read<Question>(stateKey)
    if (!question) return undefined
    const completing = this.#kept(this.#challengeKey(question.challenge), COMPLETING, COMPLETING_MS)
    return (await this.#vault.takeAnd(stateKey, [completing])) === undefined ? undefined : question
  }

  /**
   * Returns true if the granted scopes cover what the operation needs. The challenge's outcome is stored in the same
   * commit.
   */
  async #accept(question: Question, answer: URLSearchParams): Promise<boolean> {
    const { provider, holder, asked, needed, challenge } = question
    const client = this.#clients.get(provider)
    if (!client) throw new Fault('unavailable', `The provider ${provider} is no longer configured.`)
    const granted = await client.exchange(answer, question)
    const { scopes } = await this.#grants.replace(holder, granted, asked, (held) =>
      this.#outcome(challenge, covers(held.scopes, needed) ? 'completed' : 'failed'),
    )
    return covers(scopes, needed)
  }

  async status(challenge: string): Promise<ChallengeStatus> {
    const progress = await this.#progress(challenge)
    return progress === COMPLETING ? 'pending' : progress
  }

  async #progress(challenge: string): Promise<ChallengeStatus | typeof COMPLETING> {
    try {
      return (await this.#read<ChallengeStatus | typeof COMPLETING>(this.#challengeKey(challenge))) ?? 'failed'
    } catch (err) {
      this.#env.log.warn({ err }, 'could not read the status of a challenge')
      // A challenge that the vault cannot decrypt can never be completed. A store that is unavailable now may respond
      // later.
      return Fault.from(err).retryable ? 'pending' : 'failed'
    }
  }

  #outcome(challenge: string, outcome: ChallengeStatus): VaultChange {
    return this.#kept(this.#challengeKey(challenge), outcome, OUTCOME_MS)
  }

  /** Anonymous people cannot be distinguished, so they cannot hold grants. */
  #mayHold(caller: Caller): boolean {
    return this.#anonymous || ownerOf(caller) !== ownerOf(ANONYMOUS)
  }

  #holder(caller: Caller, provider: string): string {
    return `authorization/${provider}/${this.#hash([caller.tenant, ownerOf(caller), caller.userId ?? null])}`
  }

  // Stored as a hash, like a password, so that a reader of the database learns no valid link.
  #stateKey(state: string): string {
    return `state/${this.#hash(state)}`
  }

  #challengeKey(challenge: string): string {
    return `challenge/${this.#hash(challenge)}`
  }

  #hash(value: unknown): string {
    return this.#env.digest(JSON.stringify(value))
  }

  async #read<T>(key: string): Promise<T | undefined> {
    return parse<T>(await this.#vault.get(key))
  }

  #kept(key: string, value: unknown, forMs: number): VaultChange {
    return { key, value: JSON.stringify(value), expiresAt: this.#env.clock.now() + forMs }
  }
}

/** 256 bits. */
function unguessable(): string {
  return randomBytes(32).toString('base64url')
}

function parse<T>(text: string | undefined): T | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as T)
}

/** Merges the needs to one per provider. */
function merge(needs: readonly AuthorizationNeed[]): AuthorizationNeed[] {
  const byId = Map.groupBy(needs, ({ id }) => id)
  return [...byId].map(([id, own]) => ({ id, scopes: [...new Set(own.flatMap(({ scopes = [] }) => scopes))] }))
}
