/** Logging in to the console: a one-time code, or a credential that the server accepts, becomes a session. */
import { timingSafeEqual } from 'node:crypto'
import type { Caller } from '../../core/call/caller.ts'
import { Buckets } from '../../core/fairness/buckets.ts'
import { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Authenticator } from '../../security/identity/identify.ts'
import type { CodeGrant, LoginCode, LoginCodes } from './codes.ts'
import type { OidcLogin } from './oidc-login.ts'
import { asOperator } from './scopes.ts'
import { type ConsoleSessions, type CreatedSession, tooMany } from './sessions.ts'

/** For the whole node: nobody needs more, and a code has 128 random bits. */
const ATTEMPTS = { capacity: 100, msPerToken: 100 }

export type Way = 'code' | 'token' | 'oidc' | 'none'

export interface LoginRequest {
  code?: string
  /** Needed for a code of `oidc`: what the page got when the login began. */
  proof?: string
  token?: string
  readOnly?: boolean
}

export interface LoginParts {
  sessions: ConsoleSessions
  codes: LoginCodes
  env: Pick<Environment, 'clock' | 'digest'>
  /** The administrator, if the token is the administrator's. */
  recognizeAdmin(header: (name: string) => string | undefined): Caller | undefined
  /** Absent if the server has no authentication. */
  authenticator: Authenticator | undefined
  /** Who calls without a credential. Absent if nobody may. */
  local: Caller | undefined
  /** For codes: the local caller, or the administrator if callers must authenticate. */
  person: Caller
  /** Every session is read-only. */
  readOnly: boolean
  hashToken(token: string): string
  isStaticToken(tokenHash: string): boolean
  oidc: OidcLogin | undefined
}

export class ConsoleLogin {
  readonly #parts: LoginParts
  readonly #attempts: Buckets

  constructor(parts: LoginParts) {
    this.#parts = parts
    this.#attempts = new Buckets(ATTEMPTS, parts.env.clock)
  }

  get oidc(): OidcLogin | undefined {
    return this.#parts.oidc
  }

  get ways(): Way[] {
    const { local, authenticator, oidc, readOnly } = this.#parts
    return [
      // A read-only console needs a session: without one, the page would act as the local caller.
      ...(local && !readOnly ? (['none'] as const) : []),
      'code',
      ...(authenticator ? (['token'] as const) : []),
      ...(oidc ? (['oidc'] as const) : []),
    ]
  }

  /** Every attempt counts, also a good one, so that the response tells nothing about codes and tokens. */
  async logIn(request: LoginRequest): Promise<CreatedSession> {
    const waitMs = this.#attempts.take('')
    if (waitMs > 0) throw tooMany(waitMs)
    const { code, token, readOnly = false } = request
    if (code !== undefined) return this.#byCode(code, request.proof, readOnly)
    return this.#byToken(token ?? '', readOnly)
  }

  logOut(header: (name: string) => string | undefined): Promise<boolean> {
    return this.#parts.sessions.end(header)
  }

  /**
   * A code for the person at the server's terminal. Without authentication it is for the local caller, and otherwise for
   * the administrator.
   */
  createCode(readOnly = false): Promise<LoginCode> {
    const { person, codes } = this.#parts
    return codes.create({ caller: asOperator(person), ...(readOnly && { readOnly }) })
  }

  async #byCode(code: string, proof: string | undefined, readOnly: boolean): Promise<CreatedSession> {
    const grant = await this.#parts.codes.take(code)
    if (!grant || !this.#isProved(grant, proof)) throw badCode()
    return this.#parts.sessions.create({ caller: grant.caller, readOnly: readOnly || (grant.readOnly ?? false) })
  }

  /** The person who uses the code is the one who began the login, in the same browser tab. */
  #isProved({ proofHash }: CodeGrant, proof = ''): boolean {
    if (proofHash === undefined) return true
    return timingSafeEqual(Buffer.from(this.#parts.env.digest(proof)), Buffer.from(proofHash))
  }

  async #byToken(token: string, readOnly: boolean): Promise<CreatedSession> {
    const { sessions, hashToken, isStaticToken } = this.#parts
    const caller = await this.#callerOf(token)
    if (!caller) throw badToken()
    const tokenHash = hashToken(token)
    const until = expiryIn(token)
    return sessions.create({
      caller,
      readOnly,
      ...(until !== undefined && { until }),
      ...(isStaticToken(tokenHash) && { tokenHash }),
    })
  }

  /** As a bearer token, and else as an API key: people do not know which of the two they have. */
  async #callerOf(token: string): Promise<Caller | undefined> {
    const { authenticator, recognizeAdmin } = this.#parts
    const bearer = (name: string) => (name === 'authorization' ? `Bearer ${token}` : undefined)
    const admin = recognizeAdmin(bearer)
    if (admin || !authenticator) return admin
    const apiKey = (name: string) => (name === 'x-api-key' ? token : undefined)
    return (await accepted(authenticator, bearer)) ?? (await accepted(authenticator, apiKey))
  }
}

async function accepted(
  authenticator: Authenticator,
  header: (name: string) => string | undefined,
): Promise<Caller | undefined> {
  try {
    return await authenticator.authenticate(header)
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'unauthenticated') return undefined
    throw thrown
  }
}

/** When a JWT that the server has accepted expires. `undefined` for any other token. */
function expiryIn(token: string): number | undefined {
  const [, payload, signature] = token.split('.')
  if (payload === undefined || signature === undefined) return undefined
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp?: unknown } | null
    return typeof claims?.exp === 'number' ? claims.exp * 1000 : undefined
  } catch {
    // The application's own check accepted it, and it is no JWT.
    return undefined
  }
}

function badCode(): Fault {
  return new Fault(
    'unauthenticated',
    'This code is not valid. A code works once, for ten minutes. Get a new link with "callplane login-link".',
  )
}

function badToken(): Fault {
  return new Fault('unauthenticated', 'The server does not accept this token. Check that it is complete.')
}
