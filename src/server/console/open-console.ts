/** Opens the console's login on a server: its sessions, its codes, and the OpenID provider if there is one. */
import type { Caller } from '../../core/call/caller.ts'
import type { Siblings } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import type { Authenticator } from '../../security/identity/identify.ts'
import { hashToken } from '../../security/identity/tokens.ts'
import type { Base } from '../build/base.ts'
import type { RecognizeAdmin } from '../open/admin-token.ts'
import type { ConsoleOptions } from '../options/console.ts'
import type { ServerOptions } from '../options/options.ts'
import { LoginCodes } from './codes.ts'
import { ConsoleLogin } from './login.ts'
import { openOidc } from './open-oidc.ts'
import { ConsoleSessions } from './sessions.ts'

export interface ConsoleParts {
  env: Environment
  records: Records
  base: Pick<Base, 'clock' | 'remote' | 'redactor'>
  authenticator: Authenticator | undefined
  recognizeAdmin: RecognizeAdmin
  adminToken: string
  /** Who calls without a credential. Absent if nobody may. */
  local: Caller | undefined
  /** Absent if no other process uses the store. */
  siblings: Pick<Siblings, 'anyoneElse'> | undefined
}

export interface OpenedConsole {
  sessions: ConsoleSessions
  login: ConsoleLogin
}

/** `undefined` if the console is switched off. */
export async function openConsole<App>(
  options: Pick<ServerOptions<App>, 'console' | 'auth'>,
  parts: ConsoleParts,
): Promise<OpenedConsole | undefined> {
  if (options.console === false) return undefined
  const { readOnly = false, oidc }: ConsoleOptions = options.console ?? {}
  const { env, records, base, adminToken } = parts
  const tokens = new Map((options.auth?.tokens ?? []).map(({ hash, expiresAt }) => [hash, expiryOf(expiresAt)]))
  tokens.set(hashToken(adminToken), Number.POSITIVE_INFINITY)
  const sessions = new ConsoleSessions({
    records,
    env,
    readOnly,
    siblings: parts.siblings,
    isTokenValid: (tokenHash) => env.clock.now() < (tokens.get(tokenHash) ?? 0),
  })
  const codes = new LoginCodes(records, env)
  const login = new ConsoleLogin({
    ...parts,
    sessions,
    codes,
    readOnly,
    person: parts.local ?? administrator(parts),
    hashToken,
    isStaticToken: (tokenHash) => tokens.has(tokenHash),
    oidc: oidc && (await openOidc(oidc, options.auth, { env, records, codes, base })),
  })
  return { sessions, login }
}

function administrator({ recognizeAdmin, adminToken }: ConsoleParts): Caller {
  const admin = recognizeAdmin((name) => (name === 'authorization' ? `Bearer ${adminToken}` : undefined))
  if (admin) return admin
  throw new Error('The token of the administrator was not recognized.')
}

function expiryOf(expiresAt: string | undefined): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
}
