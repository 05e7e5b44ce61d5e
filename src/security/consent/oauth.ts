/** The authorizations that people give at one OAuth 2 provider: the code grant, and refresh. It stores nothing. */
import {
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { type AuthorizationConfig, checkProvider, type OAuthProvider } from './provider.ts'
import { type CodeRequest, createProviderClient, explained, type OAuthParts } from './provider-client.ts'

export interface OAuthClient {
  /** Requested in addition to the scopes that operations need. */
  readonly scopes: readonly string[]
  /** The redirect URI, if it is not below the server's own address. */
  readonly redirectUri: string | undefined
  /** Returns the URL where the person authorizes the server. */
  authorizationUrl(request: CodeRequest, scopes: readonly string[]): Promise<string>
  /** Exchanges the code in the redirect's parameters for a grant. */
  exchange(answer: URLSearchParams, request: CodeRequest): Promise<Grant>
  /** Returns `undefined` if the provider no longer accepts the refresh token. */
  refresh(refreshToken: string): Promise<Grant | undefined>
}

export interface Grant {
  accessToken: string
  refreshToken?: string
  lifetimeMs?: number
  /** As the provider states them. Absent: the requested scopes. */
  scopes?: readonly string[]
}

/** GitHub uses its own error code. */
const REFUSED = new Set(['invalid_grant', 'bad_refresh_token'])

export type OAuthClients = ReadonlyMap<string, OAuthClient>

/** Checks the whole configuration before any request is sent or server opened. */
export function createOAuthClients({ providers }: AuthorizationConfig, parts: OAuthParts): OAuthClients {
  return new Map(Object.entries(providers).map(([id, provider]) => [id, createOAuthClient(id, provider, parts)]))
}

function createOAuthClient(id: string, provider: OAuthProvider, parts: OAuthParts): OAuthClient {
  checkProvider(id, provider)
  const configuredAt = `authorization.providers.${id}`
  const known = createProviderClient({ name: id, configuredAt, provider, readTokens: plainTokenAnswer }, parts)
  const { client, authenticate, asking, describe } = known

  return {
    scopes: provider.scopes ?? [],
    redirectUri: provider.redirectUri,

    authorizationUrl: (request, scopes) =>
      known.authorizationUrl(request, {
        ...provider.extraParams,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      }),

    exchange(answer, request) {
      return explained(id, async () => {
        checkIssuer(provider, answer)
        const { server, response } = await known.redeem(answer, request)
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
