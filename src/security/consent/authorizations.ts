/**
 * What people have authorized at other services: puts the question, takes the answer, and hands out the tokens. Which
 * calls need one is the engine's to know, and how the question is worded a protocol's.
 */
import { randomBytes } from 'node:crypto'
import { ANONYMOUS, type Caller, ownerOf } from '../../core/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { AuthorizationChallenge, Authorizations } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { AuthorizationNeed } from '../../core/requirements.ts'
import type { Vault, VaultChange } from '../secrets/vault.ts'
import { covers, createGrants, type Grants } from './grants.ts'
import type { AuthorizationRequest, OAuthClient, OAuthClients } from './oauth.ts'

export interface AuthorizationService extends Authorizations {
  /** Takes the query a person comes back from a provider with; says whether it ended in an authorization. */
  complete(query: string): Promise<boolean>
  /** Of a challenge; what is unknown, past its time or unreadable has failed. Never throws. */
  status(challenge: string): Promise<ChallengeStatus>
}

export type ChallengeStatus = 'pending' | 'completed' | 'failed'

export interface AuthorizationParts {
  env: Environment
  vault: Vault
  /** Whether callers without a credential are one and the same person, as on a laptop without authentication. */
  anonymous: boolean
}

export const CALLBACK_PATH = '/authorizations/callback'

/** What is kept of a question until its answer comes. */
interface Question extends AuthorizationRequest {
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
/** A question is put again as it stands while it leaves the other half of its time to answer it. */
const REUSE_MS = CHALLENGE_MS / 2
/** How long the outcome of a challenge can be asked for. */
const OUTCOME_MS = 3_600_000
/** The person has answered, and the provider is asked for the token. */
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
    const client = this.#clients.get(id)
    if (!client || !this.#mayHold(caller)) return undefined
    const holder = this.#holder(caller, id)
    const held = await this.#grants.get(holder)
    if (!held || !covers(held.scopes, scopes)) return undefined
    const fresh = await this.#grants.fresh(holder, held, client)
    return fresh && covers(fresh.scopes, scopes) ? fresh.accessToken : undefined
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
      const message = 'This acts on behalf of a person. Send a credential, so that it is known whose.'
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
    // What is held already is asked for again, or two operations with different needs would take turns for ever.
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
      log.info({ provider, enough }, 'a person has authorized')
      return enough
    } catch (err) {
      await this.#vault.write([this.#outcome(challenge, 'failed')])
      log.warn({ provider, err }, 'an authorization was not completed')
      return false
    }
  }

  /**
   * The answer to a question is taken once. From then on nobody is sent to the provider with it, and if the server ends
   * before it has the token, the challenge has failed after a while.
   */
  async #take(stateKey: string): Promise<Question | undefined> {
    const question = await this.#read<Question>(stateKey)
    if (!question) return undefined
    const completing = this.#kept(this.#challengeKey(question.challenge), COMPLETING, COMPLETING_MS)
    return (await this.#vault.takeAnd(stateKey, [completing])) === undefined ? undefined : question
  }

  /** Whether what the person granted is what the operation needs; the challenge says so from the same moment on. */
  async #accept(question: Question, answer: URLSearchParams): Promise<boolean> {
    const { provider, holder, asked, needed, challenge } = question
    const client = this.#clients.get(provider)
    if (!client) throw new Fault('unavailable', `The provider ${provider} is not configured any more.`)
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
      this.#env.log.warn({ err }, 'how a challenge stands could not be read')
      // What the vault cannot open nobody can complete; what the store cannot tell now may be known at the next look.
      return Fault.from(err).retryable ? 'pending' : 'failed'
    }
  }

  #outcome(challenge: string, outcome: ChallengeStatus): VaultChange {
    return this.#kept(this.#challengeKey(challenge), outcome, OUTCOME_MS)
  }

  /** People without a credential cannot be told apart, so none of them can hold anything. */
  #mayHold(caller: Caller): boolean {
    return this.#anonymous || ownerOf(caller) !== ownerOf(ANONYMOUS)
  }

  #holder(caller: Caller, provider: string): string {
    return `authorization/${provider}/${this.#hash([caller.tenant, ownerOf(caller), caller.userId ?? null])}`
  }

  // What is unguessable is stored hashed, like a password: who reads the database learns no link that still works.
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

/** One question for each provider, however often an operation names it. */
function merge(needs: readonly AuthorizationNeed[]): AuthorizationNeed[] {
  const byId = Map.groupBy(needs, ({ id }) => id)
  return [...byId].map(([id, own]) => ({ id, scopes: [...new Set(own.flatMap(({ scopes = [] }) => scopes))] }))
}
