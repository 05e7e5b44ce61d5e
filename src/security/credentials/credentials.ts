/**
 * Turns the secret that an operation refers to into the credential for its remote tool. Tool Contract v1, "Auth
 * Profiles" and "Secret Rotation Semantics": secrets are read each time, and only access tokens are cached.
 */
import { hash } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { AuthBinding } from '../../core/operation/credential.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Credential, Credentials, Secret, SecretSource } from '../../core/ports/secrets.ts'
import { type ClientCredentials, encodeTokenRequest, requestToken } from './client-credentials.ts'
import type { SharedTokens } from './shared-tokens.ts'
import { TokenCache } from './token-cache.ts'
import type { TokenEndpointRules } from './token-endpoint-rules.ts'

export interface CredentialParts {
  secrets: SecretSource
  remote: RemoteClient
  clock: Clock
  /** By the `tokenURL` that operations name. */
  tokenEndpoints?: Readonly<Record<string, TokenEndpointRules>>
  /** Set if several nodes use the same access tokens. */
  sharedTokens?: SharedTokens
}

type Conceal = (value: string) => string

export function createCredentials(parts: CredentialParts): Credentials {
  const { secrets, remote, clock, tokenEndpoints = {}, sharedTokens } = parts
  const rules = parseTokenEndpoints(tokenEndpoints)
  const tokens = new TokenCache(clock, sharedTokens)

  async function exchange(client: ClientCredentials, conceal: Conceal, signal: AbortSignal): Promise<Credential> {
    const request = encodeTokenRequest(client, rules.get(URL.parse(client.tokenURL)?.href ?? '') ?? {}, conceal)
    const key = tokenKey(client)
    const { value, remembered } = await tokens.take(key, (stop) => requestToken(request, remote, stop), signal)
    let fresh = remembered
    return {
      headers: { Authorization: `Bearer ${conceal(value)}` },
      shown: [value],
      refused() {
        const again = fresh
        fresh = false
        if (again) tokens.evict(key, value)
        return again
      },
    }
  }

  return {
    async resolve(auth, conceal, signal) {
      const { profile, secretRef, headerName = '', tokenURL = '', scopes = [] } = auth
      const secret = await secrets.resolve(secretRef, signal)
      const shown: string[] = []
      const show = (value: string) => {
        shown.push(value)
        return conceal(value)
      }
      switch (profile) {
        case 'bearer':
          return fixed('Authorization', `Bearer ${show(headerText(secret, auth))}`, shown)
        case 'api_key_header':
          return fixed(headerName, show(headerText(secret, auth)), shown)
        case 'basic':
          return fixed('Authorization', `Basic ${basicPair(secret, auth, show)}`, shown)
        case 'oauth2_client_credentials': {
          const clientId = field(secret, 'client_id', auth)
          const clientSecret = conceal(field(secret, 'client_secret', auth))
          return exchange({ tokenURL, scopes, clientId, clientSecret }, conceal, signal)
        }
      }
    },
  }
}

/** The secret was just read: if the tool refuses it, reading it again gives the same value. */
function fixed(header: string, value: string, shown: readonly string[]): Credential {
  return { headers: { [header]: value }, shown, refused: () => false }
}

/** docs/readings.md#a26: another secret, other scopes or another endpoint means another token. */
function tokenKey({ tokenURL, clientId, clientSecret, scopes }: ClientCredentials): string {
  const sorted = [...new Set(scopes)].sort()
  return hash('sha256', JSON.stringify([tokenURL, clientId, sorted, hash('sha256', clientSecret)]))
}

/** A secret with one value may also have one field with any name, as in Kubernetes. */
function singleValue({ value, fields = {} }: Secret): string | undefined {
  if (value !== undefined) return value
  const all = Object.values(fields)
  return Object.hasOwn(fields, 'value') ? fields.value : all.length === 1 ? all[0] : undefined
}

function headerText(secret: Secret, auth: AuthBinding): string {
  const value = singleValue(secret)
  if (value === undefined) throw unfit(auth, 'needs one value, and the secret has several fields')
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) return value
  throw unfit(auth, 'needs a value that fits into a header: printable ASCII on one line')
}

/**
 * The pair and the password are concealed in every form. A user name or a client id alone is not, because it may be a
 * common word in results and logs.
 */
function basicPair(secret: Secret, auth: AuthBinding, conceal: Conceal): string {
  const { username, password } = secret.fields ?? {}
  const pair = username !== undefined && password !== undefined ? `${username}:${password}` : singleValue(secret)
  const colon = pair?.indexOf(':') ?? -1
  if (pair === undefined || colon < 0) {
    throw unfit(auth, 'needs "username:password", or the two fields username and password')
  }
  conceal(pair.slice(colon + 1))
  return conceal(Buffer.from(conceal(pair), 'utf8').toString('base64'))
}

function field({ fields = {} }: Secret, name: string, auth: AuthBinding): string {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value) return value
  throw unfit(auth, 'needs the two fields client_id and client_secret')
}

function unfit({ profile, secretRef }: AuthBinding, need: string): Fault {
  return new Fault(
    'secret-missing',
    `The secret "${secretRef}" cannot be used: ${profile} ${need}. Change the secret.`,
    {
      details: { secret_ref: secretRef },
    },
  )
}

const RULES: Record<keyof TokenEndpointRules, true> = { clientAuth: true, allowPrivate: true, parameters: true }

function parseTokenEndpoints(given: Readonly<Record<string, TokenEndpointRules>>): Map<string, TokenEndpointRules> {
  const parsed = Object.entries(given).map(([text, rules]): [string, TokenEndpointRules] => {
    const url = URL.parse(text)
    if (!url) throw wrong(`tokenEndpoints has "${text}", which is not a URL; write it exactly as in auth.tokenURL.`)
    const unknown = Object.keys(rules).find((name) => !Object.hasOwn(RULES, name))
    if (unknown !== undefined) {
      throw wrong(`tokenEndpoints["${text}"] has no "${unknown}". There are ${Object.keys(RULES).join(', ')}.`)
    }
    if (rules.clientAuth !== undefined && rules.clientAuth !== 'basic' && rules.clientAuth !== 'post') {
      throw wrong(`tokenEndpoints["${text}"].clientAuth must be "basic" or "post".`)
    }
    return [url.href, rules]
  })
  return new Map(parsed)
}

function wrong(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
