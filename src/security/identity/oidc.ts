/**
 * A login at an OpenID provider: authorization code with PKCE (RFC 7636), state, nonce and the issuer's identification
 * (RFC 9207). It returns who the person is, and keeps no token.
 */
import {
  authorizationCodeGrantRequest,
  type Client,
  calculatePKCECodeChallenge,
  getValidatedIdTokenClaims,
  processAuthorizationCodeResponse,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from 'oauth4webapi'
import type { JsonObject } from '../../core/json.ts'
import { clientAuthOf, createDescription, explained, type OAuthParts, requestOptions } from '../consent/oauth.ts'
import { createProviderFetch } from '../consent/oauth-fetch.ts'
import { checkAddress, clientSecretOf, type OAuthProvider } from '../consent/provider.ts'

export interface OidcOptions {
  /** The provider's address. Its metadata names its endpoints. */
  issuer: string
  clientId: string
  /** The secret, or the environment variable that contains it. A public client has none. */
  clientSecret?: string | { env: string }
  /** Requested in addition to `openid`, such as `profile` or `groups`. */
  scopes?: readonly string[]
  /** Allows the provider a plain http address on this machine, for tests. */
  allowInsecure?: boolean
}

/** Binds the redirect to the request. */
export interface OidcRequest {
  state: string
  nonce: string
  verifier: string
  redirectUri: string
}

export interface OidcClient {
  /** Returns the URL where the person logs in. */
  authorizationUrl(request: OidcRequest): Promise<string>
  /** Returns the claims about the person, from the redirect's parameters. */
  identify(answer: URLSearchParams, request: OidcRequest): Promise<JsonObject>
}

const WHERE = 'console.oidc'

/** Checks the options. Sends nothing. */
export function createOidcClient(options: OidcOptions, { now, remote, conceal }: OAuthParts): OidcClient {
  const { issuer, clientId, clientSecret, allowInsecure = false } = options
  const provider: OAuthProvider = { issuer, clientId, allowInsecure, ...(clientSecret && { clientSecret }) }
  checkAddress(issuer, provider, `${WHERE}.issuer`)
  const secret = clientSecretOf(provider, WHERE)
  if (secret !== undefined) conceal(secret)
  const client: Client = { client_id: clientId }
  const authenticate = clientAuthOf(provider, secret)
  const asking = requestOptions(provider, createProviderFetch(WHERE, provider, remote))
  const describe = createDescription(provider, asking, now)
  const scope = [...new Set(['openid', ...(options.scopes ?? [])])].join(' ')

  return {
    async authorizationUrl({ state, nonce, verifier, redirectUri }) {
      const { authorization_endpoint } = await explained(WHERE, describe)
      const url = checkAddress(authorization_endpoint ?? '', provider, `The authorization endpoint of ${WHERE}`)
      const parameters = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return url.href
    },

    identify(answer, { state, nonce, verifier, redirectUri }) {
      return explained(WHERE, async () => {
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
        const rules = { expectedNonce: nonce, requireIdToken: true }
        const tokens = await processAuthorizationCodeResponse(server, client, response, rules)
        await validateApplicationLevelSignature(server, response, asking)
        return { ...getValidatedIdTokenClaims(tokens) } as JsonObject
      })
    },
  }
}
