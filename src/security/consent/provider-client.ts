/**
 * A client of one OAuth 2 provider: the provider's metadata, the client's authentication, and the authorization code
 * grant with PKCE (RFC 7636). What the tokens are for is left to its users.
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
  processDiscoveryResponse,
  ResponseBodyError,
  validateAuthResponse,
} from 'oauth4webapi'
import { Fault } from '../../core/fault.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import { createProviderFetch, type ProviderFetch, unreachable } from './oauth-fetch.ts'
import { checkAddress, clientSecretOf, type OAuthProvider } from './provider.ts'

/** How long a provider's metadata is cached. */
const METADATA_MS = 3_600_000

export interface OAuthParts {
  now(): number
  remote: RemoteClient
  /** Takes the client secrets, which are in use as long as the server runs. */
  conceal(value: string): void
}

/** Binds the redirect to the request. */
export interface CodeRequest {
  state: string
  verifier: string
  redirectUri: string
}

export interface ProviderClientOptions {
  /** For messages. */
  name: string
  /** Where the provider is configured. */
  configuredAt: string
  provider: OAuthProvider
  /** Changes the responses of the token endpoint before they are read. */
  readTokens?(response: Response): Promise<Response>
}

export interface ProviderClient {
  readonly client: Client
  readonly authenticate: ClientAuth
  /** For requests to the token endpoint. */
  readonly asking: RequestOptions
  /** The provider's endpoints. */
  describe(): Promise<AuthorizationServer>
  /** Returns the URL where the person authorizes the server. `more` cannot replace the parameters of the grant. */
  authorizationUrl(request: CodeRequest, more: Readonly<Record<string, string>>): Promise<string>
  /** Exchanges the code in the redirect's parameters. The response of the token endpoint is not checked yet. */
  redeem(answer: URLSearchParams, request: CodeRequest): Promise<{ server: AuthorizationServer; response: Response }>
}

type RequestOptions = ReturnType<typeof requestOptions>

/** Sends nothing. */
export function createProviderClient(options: ProviderClientOptions, parts: OAuthParts): ProviderClient {
  const { name, configuredAt, provider, readTokens } = options
  const secret = clientSecretOf(provider, configuredAt)
  if (secret !== undefined) parts.conceal(secret)
  const client: Client = { client_id: provider.clientId }
  const authenticate = clientAuthOf(provider, secret)
  const fetchFrom = createProviderFetch(name, provider, parts.remote)
  const asking = requestOptions(
    provider,
    readTokens ? async (url, init) => readTokens(await fetchFrom(url, init)) : fetchFrom,
  )
  const describe = createDescription(provider, requestOptions(provider, fetchFrom), parts.now)
  return {
    client,
    authenticate,
    asking,
    describe,

    async authorizationUrl({ state, verifier, redirectUri }, more) {
      const { authorization_endpoint } = await explained(name, describe)
      const url = checkAddress(authorization_endpoint ?? '', provider, `The authorization endpoint of ${name}`)
      const parameters = {
        ...more,
        response_type: 'code',
        client_id: provider.clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value)
      return url.href
    },

    async redeem(answer, { state, verifier, redirectUri }) {
      const server = await describe()
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
      return { server, response }
    },
  }
}

function clientAuthOf({ clientAuth }: OAuthProvider, secret: string | undefined): ClientAuth {
  if (secret === undefined) return None()
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  if (clientAuth) return clientAuth === 'post' ? post : basic
  return (server, ...rest) => (takesOnlyPost(server) ? post : basic)(server, ...rest)
}

/** RFC 8414: without a list, the provider accepts the header. */
function takesOnlyPost({ token_endpoint_auth_methods_supported: methods }: AuthorizationServer): boolean {
  return methods !== undefined && !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
}

function requestOptions({ allowInsecure = false }: OAuthProvider, fetchFrom: ProviderFetch) {
  return { [customFetch]: fetchFrom, [allowInsecureRequests]: allowInsecure }
}

/** The provider's endpoints. If they are not configured, its metadata is fetched once an hour. */
function createDescription(
  provider: OAuthProvider,
  discovering: RequestOptions,
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
async function discover(issuer: URL, discovering: RequestOptions): Promise<AuthorizationServer> {
  const response = await discoveryRequest(issuer, { ...discovering, algorithm: 'oidc' })
  if (response.status !== 404) return processDiscoveryResponse(issuer, response)
  return processDiscoveryResponse(issuer, await discoveryRequest(issuer, { ...discovering, algorithm: 'oauth2' }))
}

/** The library's errors may contain the response with its tokens, so only their messages are passed on. */
export async function explained<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown
    if (thrown instanceof AuthorizationResponseError) throw refusedBy(name, thrown.error)
    if (thrown instanceof ResponseBodyError) throw refusedBy(name, `${thrown.status} ${thrown.error}`)
    throw refusedBy(name, thrown instanceof Error ? thrown.message : 'an invalid response')
  }
}

function refusedBy(name: string, why: string): Fault {
  return unreachable(name, new Error(`${name}: ${why.slice(0, 200)}`))
}
