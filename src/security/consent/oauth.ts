/**
 * The OAuth 2 client for one provider: authorization code with PKCE (RFC 7636), and refresh. It stores nothing except
 * the provider's metadata.
 */
import {
  AuthorizationResponseError,
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  customFetch,
  discoveryRequest,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { Fault } from '../../core/fault.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import { createProviderFetch, type ProviderFetch, unreachable } from './oauth-fetch.ts'
import {
  type AuthorizationConfig,
  checkAddress,
  checkProvider,
  clientSecretOf,
  type OAuthProvider,
} from './provider.ts'

export interface OAuthClient {
  /** Requested in addition to the scopes that operations need. */
  readonly scopes: readonly string[]
  /** The redirect URI, if it is not below the server's own address. */
  readonly redirectUri: string | undefined
  /** Returns the URL where the person authorizes the server. */
  authorizationUrl(request: AuthorizationRequest, scopes: readonly string[]): Promise<string>
  /** Exchanges the code in the redirect's parameters for a grant. */
  exchange(answer: URLSearchParams, request: AuthorizationRequest): Promise<Grant>
  /** Returns `undefined` if the provider no longer accepts the refresh token. */
  refresh(refreshToken: string): Promise<Grant | undefined>
}

/** Binds the redirect to the request. */
export interface AuthorizationRequest {
  state: string
  verifier: string
  redirectUri: string
}

export interface Grant {
  accessToken: string
  refreshToken?: string
  lifetimeMs?: number
  /** As the provider states them. Absent: the requested scopes. */
  scopes?: readonly string[]
}

/** How long a provider's metadata is cached. */
const METADATA_MS = 3_600_000
/** GitHub uses its own error code. */
const REFUSED = new Set(['invalid_grant', 'bad_refresh_token'])

export type OAuthClients = ReadonlyMap<string, OAuthClient>

export interface OAuthParts {
  now(): number
  remote: RemoteClient
  /** Takes the client secrets, which are in use as long as the server runs. */
  conceal(value: string): void
}

/** Checks the whole configuration before any request is sent or server opened. */
export function createOAuthClients({ providers }: AuthorizationConfig, parts: OAuthParts): OAuthClients {
  return new Map(Object.entries(providers).map(([id, provider]) => [id, createOAuthClient(id, provider, parts)]))
}

function createOAuthClient(id: string, provider: OAuthProvider, { now, remote, conceal }: OAuthParts): OAuthClient {
  checkProvider(id, provider)
  const client: Client = { client_id: provider.clientId }
  const secret = clientSecretOf(provider, `authorization.providers.${id}`)
  if (secret !== undefined) conceal(secret)
  const authenticate = clientAuthOf(provider, secret)
  const fetchFrom = createProviderFetch(id, provider, remote)
  const discovering = requestOptions(provider, fetchFrom)
  const asking = requestOptions(provider, async (url, init) => plainTokenAnswer(await fetchFrom(url, init)))
  const describe = createDescription(provider, discovering, now)

  return {
    scopes: provider.scopes ?? [],
    redirectUri: provider.redirectUri,

    async authorizationUrl({ state, verifier, redirectUri }, scopes) {
      const { authorization_endpoint } = await explained(id, describe)
      const url = checkAddress(authorization_endpoint ?? '', provider, `The authorization endpoint of ${id}`)
      const parameters = {
        ...provider.extraParams,
        response_type: 'code',
        client_id: provider.clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return url.href
    },

    exchange(answer, { state, verifier, redirectUri }) {
      return explained(id, async () => {
        const server = await describe()
        checkIssuer(provider, answer)
        const accepted = validateAuthResponse(server, client, answer, state)
        const response = await authorizationCodeGrantRequest(
          server,
          client,
          authenticate,
          accepted,
          redirectUri,
          verifier,
          asking,
        )
        return grantOf(await processAuthorizationCodeResponse(server, client, response))
      })
    },

    refresh(refreshToken) {
      return explained(id, async () => {
        const server = await describe()
        const response = await refreshTokenGrantRequest(server, client, authenticate, refreshToken, asking)
        try {
          return grantOf(await processRefreshTokenResponse(server, client, response))
        } catch (thrown) {
          if (thrown instanceof ResponseBodyError && REFUSED.has(thrown.error)) return undefined
          throw thrown
        }
      })
    },
  }
}

export function clientAuthOf({ clientAuth }: OAuthProvider, secret: string | undefined): ClientAuth {
  if (secret === undefined) return None()
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  if (clientAuth) return clientAuth === 'post' ? post : basic
  return (server, ...rest) => (takesOnlyPost(server) ? post : basic)(server, ...rest)
}

/** RFC 8414: without a list, the provider accepts the header. */
function takesOnlyPost({ token_endpoint_auth_methods_supported: methods }: AuthorizationServer): boolean {
  return methods !== undefined && !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
}

export function requestOptions({ allowInsecure = false }: OAuthProvider, fetchFrom: ProviderFetch) {
  return { [customFetch]: fetchFrom, [allowInsecureRequests]: allowInsecure }
}

/** The provider's endpoints. If they are not configured, its metadata is fetched once an hour. */
export function createDescription(
  provider: OAuthProvider,
  discovering: ReturnType<typeof requestOptions>,
  now: () => number,
): () => Promise<AuthorizationServer> {
  const { issuer, authorizationUrl, tokenUrl } = provider
  if (authorizationUrl !== undefined) {
    const described = {
      issuer: issuer ?? new URL(authorizationUrl).origin,
      authorization_endpoint: authorizationUrl,
      token_endpoint: tokenUrl,
    }
    return async () => described
  }
  let known: { description: Promise<AuthorizationServer>; until: number } | undefined
  return () => {
    if (known && now() < known.until) return known.description
    const description = discover(new URL(issuer), discovering)
    known = { description, until: now() + METADATA_MS }
    // A failure is not cached: the next call fetches again.
    description.catch(() => {
      known = undefined
    })
    return description
  }
}

/** Tries OpenID Connect's address first, then that of RFC 8414. */
async function discover(issuer: URL, discovering: ReturnType<typeof requestOptions>): Promise<AuthorizationServer> {
  const response = await discoveryRequest(issuer, { ...discovering, algorithm: 'oidc' })
  if (response.status !== 404) return processDiscoveryResponse(issuer, response)
  return processDiscoveryResponse(issuer, await discoveryRequest(issuer, { ...discovering, algorithm: 'oauth2' }))
}

/**
 * RFC 9207 prevents the use of one provider's code at another one. If no issuer is configured, the `iss` must at least
 * be on the host where the person was sent.
 */
function checkIssuer({ issuer, authorizationUrl = '' }: OAuthProvider, answer: URLSearchParams): void {
  const named = answer.get('iss')
  if (named === null || issuer !== undefined) return
  if (URL.parse(named)?.origin !== URL.parse(authorizationUrl)?.origin) {
    throw new Error('"iss" names another issuer; if it is the right one, configure it as "issuer"')
  }
  answer.delete('iss')
}

/**
 * The person's identity at the provider is not used, so the ID token is not read and an error in it does not matter. An
 * error with status 200 (GitHub) becomes an error response.
 */
async function plainTokenAnswer(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.includes('json')) return response
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  if (typeof body !== 'object' || body === null) return response
  const { id_token: _, ...rest } = body as Record<string, unknown>
  const status = response.status === 200 && typeof rest.error === 'string' ? 400 : response.status
  return Response.json(rest, { status })
}

function grantOf({ access_token, refresh_token, expires_in, scope }: TokenEndpointResponse): Grant {
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && { lifetimeMs: expires_in * 1000 }),
    // RFC 6749 separates scopes with spaces, GitHub with commas.
    ...(scope !== undefined && { scopes: scope.split(/[\s,]+/).filter((each) => each !== '') }),
  }
}

/** The library's errors may contain the response with its tokens, so only their messages are passed on. */
export async function explained<T>(id: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown
    if (thrown instanceof AuthorizationResponseError) throw refusedBy(id, thrown.error)
    if (thrown instanceof ResponseBodyError) throw refusedBy(id, `${thrown.status} ${thrown.error}`)
    throw refusedBy(id, thrown instanceof Error ? thrown.message : 'an invalid response')
  }
}

function refusedBy(id: string, why: string): Fault {
  return unreachable(id, new Error(`${id}: ${why.slice(0, 200)}`))
}
