/**
 * What people have authorized at other services: asks for it, keeps the tokens sealed for the person they belong to,
 * renews them, and hands them out. Which calls need one is the engine's to know, and how the question is put a
 * protocol's.
 */
import { randomBytes } from 'node:crypto'
import { Fault } from '../core/fault.ts'
import { ANONYMOUS, type Caller, ownerOf } from '../core/model.ts'
import type { AuthorizationChallenge, Authorizations, Environment } from '../core/ports.ts'
import type { AuthorizationNeed } from '../core/requirements.ts'
import type { AuthorizationRequest, Grant, OAuthClient, OAuthClients } from './oauth.ts'
import type { Vault } from './vault.ts'

export interface AuthorizationService extends Authorizations {
  /** Takes the query a person comes back from a provider with; says whether it ended in an authorization. */
  complete(query: string): Promise<boolean>
  /** Of a challenge; what is unknown or past its time has failed. */
  status(challenge: string): Promise<ChallengeStatus>
}

export type ChallengeStatus = 'pending' | 'completed' | 'failed'

export interface AuthorizationParts {
  env: Environment
  vault: Vault
  /** Whether callers without a credential are one and the same person, as on a laptop without authentication. */
  anonymous: boolean
}

/** What is kept of a grant. */
interface Held {
  accessToken: string
  refreshToken?: string
  expiresAt?: number
  scopes: readonly string[]
}

/** What is kept of a question until its answer comes. */
interface Asked extends AuthorizationRequest {
  provider: string
  holder: string
  challenge: string
  asked: readonly string[]
  needed: readonly string[]
}

interface Pending {
  id: string
  url: string
  reuseUntil: number
}

const CHALLENGE_MS = 600_000
/** A question is put again as it stands while it leaves this much of its time to answer it. */
const REUSE_MS = CHALLENGE_MS / 2
/** How long the outcome of a challenge can be asked for. */
const OUTCOME_MS = 3_600_000
/** A token that ends so soon might not last for what it is needed for. */
const EARLY_MS = 30_000

export function createAuthorizations(clients: OAuthClients, parts: AuthorizationParts): AuthorizationService {
  const { env, vault, anonymous } = parts
  const now = () => env.clock.now()
  const renewing = new Map<string, Promise<Held | undefined>>()

  const hash = (value: unknown) => env.digest(JSON.stringify(value))
  const mayHold = (caller: Caller) => anonymous || ownerOf(caller) !== ownerOf(ANONYMOUS)
  const holderOf = (caller: Caller, provider: string) =>
    `authorization/${provider}/${hash([caller.tenant, ownerOf(caller), caller.userId ?? null])}`
  const read = async <T>(key: string): Promise<T | undefined> => parse<T>(await vault.get(key))
  const write = (key: string, value: unknown, expiresAt?: number) => vault.put(key, JSON.stringify(value), expiresAt)

  const keep = async (holder: string, grant: Grant, before: Pick<Held, 'refreshToken' | 'scopes'>): Promise<Held> => {
    const { accessToken, refreshToken = before.refreshToken, lifetimeMs, scopes = before.scopes } = grant
    const held = {
      accessToken,
      scopes,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(lifetimeMs !== undefined && { expiresAt: now() + lifetimeMs }),
    }
    await write(holder, held)
    return held
  }

  /** Many calls may find a token old at once; a refresh token is good for one of them. */
  const renew = (holder: string, client: OAuthClient, held: Held): Promise<Held | undefined> => {
    const underWay = renewing.get(holder)
    if (underWay) return underWay
    const renewal = renewOnce(holder, client, held).finally(() => renewing.delete(holder))
    renewing.set(holder, renewal)
    return renewal
  }

  async function renewOnce(holder: string, client: OAuthClient, held: Held): Promise<Held | undefined> {
    const { refreshToken, expiresAt = 0 } = held
    const stillGood = now() < expiresAt
    let grant: Grant | undefined
    try {
      grant = refreshToken === undefined ? undefined : await client.refresh(refreshToken)
    } catch (thrown) {
      if (!stillGood) throw thrown
      env.log.warn({ err: thrown }, 'an authorization could not be renewed yet; it is still good')
      return held
    }
    // Authorized anew, or renewed by another node, while the provider was asked: then that is what counts.
    const current = await read<Held>(holder)
    if (current?.accessToken !== held.accessToken) return current
    if (grant) return keep(holder, grant, held)
    if (refreshToken === undefined && stillGood) return held
    await vault.remove(holder)
    return undefined
  }

  async function ask(caller: Caller, { id, scopes = [] }: AuthorizationNeed, origin: string): Promise<Pending> {
    const client = clients.get(id) as OAuthClient
    const holder = holderOf(caller, id)
    const held = await read<Held>(holder)
    // What is held already is asked for again, or two operations with different needs would take turns for ever.
    const asked = [...new Set([...client.scopes, ...(held?.scopes ?? []), ...scopes])].sort()
    const redirectUri = client.redirectUri ?? `${origin}${CALLBACK_PATH}`
    const pendingKey = `pending/${hash([holder, asked, redirectUri])}`
    const pending = await read<Pending>(pendingKey)
    if (pending && now() < pending.reuseUntil && (await status(pending.id)) === 'pending') return pending

    const request = { state: unguessable(), verifier: unguessable(), redirectUri }
    const challenge = unguessable()
    const url = await client.authorizationUrl(request, asked)
    const expiresAt = now() + CHALLENGE_MS
    const fresh: Pending = { id: challenge, url, reuseUntil: now() + REUSE_MS }
    const question: Asked = { ...request, provider: id, holder, challenge, asked, needed: scopes }
    await Promise.all([
      write(stateKey(request.state), question, expiresAt),
      write(challengeKey(challenge), 'pending', expiresAt),
      write(pendingKey, fresh, fresh.reuseUntil),
    ])
    return fresh
  }

  // What is unguessable is stored hashed, like a password: who reads the database learns no link that still works.
  const stateKey = (state: string) => `state/${hash(state)}`
  const challengeKey = (challenge: string) => `challenge/${hash(challenge)}`

  const settle = (challenge: string, outcome: ChallengeStatus) =>
    write(challengeKey(challenge), outcome, now() + OUTCOME_MS)

  async function status(challenge: string): Promise<ChallengeStatus> {
    return (await read<ChallengeStatus>(challengeKey(challenge))) ?? 'failed'
  }

  /** Whether what the person granted is what the operation needs. */
  async function accept(question: Asked, answer: URLSearchParams): Promise<boolean> {
    const { provider, holder, asked, needed } = question
    const client = clients.get(provider)
    if (!client) throw new Fault('unavailable', `The provider ${provider} is not configured any more.`)
    const grant = await client.exchange(answer, question)
    await renewing.get(holder)?.catch(() => undefined)
    const { scopes } = await keep(holder, grant, { scopes: asked })
    return covers(scopes, needed)
  }

  return {
    async token(caller, id, scopes) {
      const client = clients.get(id)
      if (!client || !mayHold(caller)) return undefined
      const holder = holderOf(caller, id)
      const held = await read<Held>(holder)
      if (!held || !covers(held.scopes, scopes)) return undefined
      if (held.expiresAt === undefined || now() < held.expiresAt - EARLY_MS) return held.accessToken
      const renewed = await renew(holder, client, held)
      return renewed && covers(renewed.scopes, scopes) ? renewed.accessToken : undefined
    },

    async refused(caller, id, token) {
      const holder = holderOf(caller, id)
      const held = await read<Held>(holder)
      if (held?.accessToken === token) await write(holder, { ...held, expiresAt: 0 })
    },

    async challenge(caller, needs, origin) {
      if (!mayHold(caller)) {
        throw new Fault(
          'unauthenticated',
          'This acts on behalf of a person. Send a credential, so that it is known whose.',
        )
      }
      const known = merge(needs).filter(({ id }) => clients.has(id))
      return Promise.all(
        known.map(async (need): Promise<AuthorizationChallenge> => {
          const { id, url } = await ask(caller, need, origin)
          return { id: need.id, url, checkUrl: `${origin}/authorizations/${id}/status` }
        }),
      )
    },

    async complete(query) {
      const answer = new URLSearchParams(query)
      const question = parse<Asked>(await vault.take(stateKey(answer.get('state') ?? '')))
      if (!question) return false
      const { provider, challenge } = question
      try {
        const enough = await accept(question, answer)
        await settle(challenge, enough ? 'completed' : 'failed')
        env.log.info({ provider, enough }, 'a person has authorized')
        return enough
      } catch (err) {
        await settle(challenge, 'failed')
        env.log.warn({ provider, err }, 'an authorization was not completed')
        return false
      }
    },

    status,
  }
}

export const CALLBACK_PATH = '/authorizations/callback'

/** 256 bits. */
function unguessable(): string {
  return randomBytes(32).toString('base64url')
}

function parse<T>(text: string | undefined): T | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as T)
}

function covers(granted: readonly string[], needed: readonly string[]): boolean {
  return needed.every((scope) => granted.includes(scope))
}

/** One question for each provider, however often an operation names it. */
function merge(needs: readonly AuthorizationNeed[]): AuthorizationNeed[] {
  const byId = Map.groupBy(needs, ({ id }) => id)
  return [...byId].map(([id, own]) => ({ id, scopes: [...new Set(own.flatMap(({ scopes = [] }) => scopes))] }))
}
