/**
 * A login at an OpenID provider: authorization code with PKCE (RFC 7636), state, nonce and the issuer's identification
 * (RFC 9207). It returns who the person is, and keeps no token.
 */
import {
  getValidatedIdTokenClaims,
  processAuthorizationCodeResponse,
  validateApplicationLevelSignature,
} from 'oauth4webapi'
import type { JsonObject } from '../../core/json.ts'
import { checkAddress, type OAuthProvider } from '../consent/provider.ts'
import { type CodeRequest, createProviderClient, explained, type OAuthParts } from '../consent/provider-client.ts'

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
export interface OidcRequest extends CodeRequest {
  nonce: string
}

export interface OidcClient {
  /** Returns the URL where the person logs in. */
  authorizationUrl(request: OidcRequest): Promise<string>
  /** Returns the claims about the person, from the redirect's parameters. */
  identify(answer: URLSearchParams, request: OidcRequest): Promise<JsonObject>
}

const WHERE = 'console.oidc'

/** Checks the options. Sends nothing. */
export function createOidcClient(options: OidcOptions, parts: OAuthParts): OidcClient {
  const { issuer, clientId, clientSecret, allowInsecure = false } = options
  const provider: OAuthProvider = { issuer, clientId, allowInsecure, ...(clientSecret && { clientSecret }) }
  checkAddress(issuer, provider, `${WHERE}.issuer`)
  const known = createProviderClient({ name: WHERE, configuredAt: WHERE, provider }, parts)
  const scope = [...new Set(['openid', ...(options.scopes ?? [])])].join(' ')
  return {
    authorizationUrl: (request) => known.authorizationUrl(request, { scope, nonce: request.nonce }),

    identify(answer, request) {
      return explained(WHERE, async () => {
        const { server, response } = await known.redeem(answer, request)
        const rules = { expectedNonce: request.nonce, requireIdToken: true }
        const tokens = await processAuthorizationCodeResponse(server, known.client, response, rules)
        await validateApplicationLevelSignature(server, response, known.asking)
        return { ...getValidatedIdTokenClaims(tokens) } as JsonObject
      })
    },
  }
}
