/** The OpenID provider of the console, and how its people become callers. Loaded with the first provider. */
import type { Caller } from '../../core/call/caller.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import type { AuthConfig } from '../../security/identity/identify.ts'
import { callerFrom } from '../../security/identity/own-verification.ts'
import type { Base } from '../build/base.ts'
import type { ConsoleOidcOptions } from '../options/console.ts'
import type { LoginCodes } from './codes.ts'
import { OidcLogin } from './oidc-login.ts'

export interface OpenOidcParts {
  env: Environment
  records: Records
  codes: LoginCodes
  base: Pick<Base, 'clock' | 'remote' | 'redactor'>
}

export async function openOidc(
  options: ConsoleOidcOptions,
  auth: AuthConfig | undefined,
  { env, records, codes, base }: OpenOidcParts,
): Promise<OidcLogin> {
  const { createOidcClient } = await import('../../security/identity/oidc.ts')
  const { clock, remote, redactor } = base
  const client = createOidcClient(options, { now: () => clock.now(), remote, conceal: redactor.add })
  const { name = new URL(options.issuer).host } = options
  return new OidcLogin({ client, name, callerOf: await readerOf(options, auth), codes, records, env })
}

/** The application's function, or else the rules that `auth.jwt` has for tokens of the same issuer. */
async function readerOf(
  { issuer, callerOf }: ConsoleOidcOptions,
  { tenant = 'main', jwt = [] }: AuthConfig = {},
): Promise<(claims: JsonObject) => Caller | undefined | Promise<Caller | undefined>> {
  if (callerOf)
    return async (claims) => {
      const returned = await callerOf(claims)
      return returned ? callerFrom({ issuer, ...returned }, tenant, 'console.oidc.callerOf') : undefined
    }
  const { createClaimsReader } = await import('../../security/identity/jwt.ts')
  return createClaimsReader(jwt, issuer, tenant)
}
