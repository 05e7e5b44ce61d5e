/** The configuration of the services where people authorize the server, checked before the server starts. */
import { Fault } from '../../core/fault.ts'

export interface AuthorizationConfig {
  /** By the id that operations name in `requires.authorization`. */
  providers: Readonly<Record<string, OAuthProvider>>
}

export type OAuthProvider = OAuthEndpoints & OAuthClientOptions

type OAuthEndpoints =
  /** The provider's metadata names its endpoints. */
  | { issuer: string; authorizationUrl?: never; tokenUrl?: never }
  /** `issuer` is also needed if the provider sends an `iss` on another host than the login page. */
  | { authorizationUrl: string; tokenUrl: string; issuer?: string }

interface OAuthClientOptions {
  clientId: string
  /** The secret, or the environment variable that contains it. A public client has none. */
  clientSecret?: string | { env: string }
  /** How the secret is sent: in the Authorization header or in the body. Default: as the provider's metadata says. */
  clientAuth?: 'basic' | 'post'
  /** Requested in addition to the scopes that operations need, such as `offline_access`. */
  scopes?: readonly string[]
  /** Sent with the authorization request, such as `{ access_type: 'offline' }`. */
  extraParams?: Readonly<Record<string, string>>
  /** The redirect URI. Default: `{the server's address}/authorizations/callback`. */
  redirectUri?: string
  /** Allows the provider a plain http address on this machine, for tests. */
  allowInsecure?: boolean
  /** Time limit of one request to the provider. Default: 10 seconds. */
  timeoutMs?: number
}

/** Parameters that bind the redirect to the request. The configuration cannot set them. */
const OWN_PARAMS = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
])

export function checkProvider(id: string, provider: OAuthProvider): void {
  const where = `authorization.providers.${id}`
  if (!/^[\w.-]{1,64}$/.test(id)) {
    throw wrong(`"${id}" cannot be the id of a provider; use letters, digits, ".", "-" and "_".`)
  }
  if (!provider.clientId) throw wrong(`${where}.clientId is missing; the provider gives one when you register there.`)
  const { issuer, authorizationUrl, tokenUrl } = provider
  if (issuer === undefined && (authorizationUrl === undefined || tokenUrl === undefined)) {
    throw wrong(`${where} needs "issuer", or both "authorizationUrl" and "tokenUrl".`)
  }
  for (const [name, url] of Object.entries({ issuer, authorizationUrl, tokenUrl })) {
    if (url !== undefined) checkAddress(url, provider, `${where}.${name}`)
  }
  if (provider.redirectUri !== undefined && !URL.canParse(provider.redirectUri)) {
    throw wrong(`${where}.redirectUri must be an absolute URL that ends in /authorizations/callback.`)
  }
  const own = Object.keys(provider.extraParams ?? {}).find((name) => OWN_PARAMS.has(name))
  if (own !== undefined) throw wrong(`${where}.extraParams cannot set "${own}"; the server sets it for every request.`)
}

/** Requires https, or plain http to this machine if allowed: an attacker in between could read codes and tokens. */
export function checkAddress(text: string, { allowInsecure = false }: OAuthClientOptions, where: string): URL {
  const url = URL.parse(text)
  if (url?.protocol === 'https:') return url
  if (url?.protocol === 'http:' && allowInsecure && LOOPBACK.has(url.hostname)) return url
  throw wrong(`${where} must be an https address.`)
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

export function clientSecretOf({ clientSecret }: OAuthClientOptions, where: string): string | undefined {
  if (typeof clientSecret !== 'object') return clientSecret
  const value = process.env[clientSecret.env]
  if (value) return value
  throw wrong(`${where}.clientSecret names the environment variable ${clientSecret.env}, which is not set.`)
}

function wrong(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_PROVIDER' })
}
