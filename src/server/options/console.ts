/** The options of the console: the page at `/explorer/` and `/console/`, and its login. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { AuthConfig } from '../../security/identity/identify.ts'
import type { OidcOptions } from '../../security/identity/oidc.ts'
import type { VerifiedCaller } from '../../security/identity/own-verification.ts'

export interface ConsoleOptions {
  /** No session of the console can change anything: every mutation is refused by the server. Default: false. */
  readOnly?: boolean
  /** People log in at this OpenID provider. Register `{the server's address}/console/oidc/callback` there. */
  oidc?: ConsoleOidcOptions
}

export interface ConsoleOidcOptions extends OidcOptions {
  /** The name on the login button. Default: the host of the issuer. */
  name?: string
  /**
   * Who the person is here, from the claims of the provider's ID token. `undefined` refuses the login. Default: as
   * `auth.jwt` says for tokens of this issuer.
   */
  callerOf?: (claims: JsonObject) => Returned | Promise<Returned>
}

type Returned = VerifiedCaller | null | undefined

export const CONSOLE_NAMES: Record<keyof ConsoleOptions, true> = { readOnly: true, oidc: true }
export const CONSOLE_OIDC_NAMES: Record<keyof ConsoleOidcOptions, true> = {
  issuer: true,
  clientId: true,
  clientSecret: true,
  scopes: true,
  allowInsecure: true,
  name: true,
  callerOf: true,
}

export function checkConsole({ readOnly, oidc }: ConsoleOptions, auth: AuthConfig | undefined): void {
  if (readOnly !== undefined && typeof readOnly !== 'boolean') throw wrong('console.readOnly must be true or false.')
  if (!oidc) return
  const { issuer, clientId, callerOf } = oidc
  if (typeof issuer !== 'string' || !URL.canParse(issuer))
    throw wrong('console.oidc.issuer must be the address of the provider, such as https://login.example.')
  if (typeof clientId !== 'string' || clientId === '')
    throw wrong('console.oidc.clientId is missing; the provider gives one when you register there.')
  if (callerOf !== undefined && typeof callerOf !== 'function')
    throw wrong('console.oidc.callerOf must be a function that returns a caller.')
  if (callerOf === undefined && !auth?.jwt?.some((rule) => rule.issuer === issuer))
    throw wrong(
      'console.oidc needs "callerOf", which says who a person is here and with which scopes; or rules in auth.jwt for the same issuer.',
    )
}

function wrong(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
