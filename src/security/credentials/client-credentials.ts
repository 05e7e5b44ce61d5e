/**
 * OAuth 2 client credentials (RFC 6749, section 4.4): requests an access token from a token endpoint with oauth4webapi,
 * through the client for remote tools. The library's errors contain the whole response, including the token, so they
 * are never passed on.
 */
import type { ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { RemoteAnswer, RemoteClient } from '../../core/ports/outbound.ts'
import type { TokenEndpointRules } from './token-endpoint-rules.ts'

export interface ClientCredentials {
  tokenURL: string
  scopes: readonly string[]
  clientId: string
  clientSecret: string
}

export interface AccessToken {
  value: string
  /** How long the token may be reused; 0 if it may be used only once. */
  lifetimeMs: number
}

export interface TokenRequest {
  readonly url: string
  readonly clientId: string
  readonly authenticate: ClientAuth
  readonly parameters: Readonly<Record<string, string>>
  readonly allowPrivate: boolean
}

/** A token is not used this long before it expires, because it must still be valid when it arrives. */
const MARGIN_SECONDS = 30
const MAX_ANSWER_BYTES = 256 * 1024

/** All secret values in it have passed through `conceal`. */
export function encodeTokenRequest(
  client: ClientCredentials,
  rules: TokenEndpointRules,
  conceal: (value: string) => string,
): TokenRequest {
  const { clientId, clientSecret, scopes } = client
  const { clientAuth = 'basic', allowPrivate = false, parameters } = rules
  return {
    url: checkTokenUrl(client.tokenURL, allowPrivate),
    clientId,
    authenticate: clientAuth === 'post' ? postAuth(clientId, clientSecret) : basicAuth(clientId, clientSecret, conceal),
    parameters: { ...parameters, ...(scopes.length > 0 && { scope: scopes.join(' ') }) },
    allowPrivate,
  }
}

function postAuth(clientId: string, clientSecret: string): ClientAuth {
  return (_server, _client, body) => {
    body.set('client_id', clientId)
    body.set('client_secret', clientSecret)
  }
}

/**
 * RFC 6749, section 2.3.1: both values are form-encoded before they are joined. The library's `ClientSecretBasic` is
 * not used: it also encodes "-", "_" and ".", and many token endpoints compare the values without decoding.
 */
function basicAuth(clientId: string, clientSecret: string, conceal: (value: string) => string): ClientAuth {
  const pair = `${formEncode(clientId)}:${conceal(formEncode(clientSecret))}`
  const header = `Basic ${conceal(Buffer.from(pair).toString('base64'))}`
  return (_server, _client, _body, headers) => headers.set('authorization', header)
}

export async function requestToken(
  request: TokenRequest,
  remote: RemoteClient,
  signal: AbortSignal,
): Promise<AccessToken> {
  // Loaded on first use, because most servers need no tokens.
  const oauth = await import('oauth4webapi')
  const { url, clientId, authenticate, parameters, allowPrivate } = request
  const { host, origin } = new URL(url)
  const server = { issuer: origin, token_endpoint: url }
  const client = { client_id: clientId }
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authenticate,
    { ...parameters },
    {
      headers: { 'user-agent': 'callplane' },
      // The address was checked: without TLS only if the operator allows it.
      [oauth.allowInsecureRequests]: allowPrivate,
      async [oauth.customFetch](_url, { headers, body }) {
        const sent = {
          method: 'POST' as const,
          url,
          headers,
          body: String(body),
          maxBytes: MAX_ANSWER_BYTES,
          allowPrivate,
        }
        return plainAnswer(await remote.send({ ...sent, signal }), host)
      },
    },
  )
  const token = await oauth.processClientCredentialsResponse(server, client, response).catch((thrown: unknown) => {
    const other = thrown instanceof oauth.UnsupportedOperationError
    throw unusable(host, other ? 'a token that is not a bearer token' : 'no usable access_token')
  })
  return accessToken(token, host)
}

/**
 * Returns the response in a form that the library accepts, or throws its fault. Corrects fields that some endpoints
 * omit or misspell.
 */
function plainAnswer(answer: RemoteAnswer, host: string): Response {
  const body = parseBody(answer.text)
  if (answer.status !== 200) throw refusal(answer, body, host)
  if (!body) throw unusable(host, 'something that is not a JSON object')
  // Some endpoints send an error with status 200.
  if (typeof body.error === 'string') throw notAccepted(host, body)
  const { access_token, token_type = 'bearer', expires_in } = body
  if (typeof token_type !== 'string') throw unusable(host, 'a token that is not a bearer token')
  const seconds = typeof expires_in === 'string' ? Number(expires_in) : expires_in
  const lifetime = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 && { expires_in: seconds }
  return Response.json({ access_token, token_type, ...lifetime })
}

function accessToken(
  { access_token: value, token_type, expires_in }: TokenEndpointResponse,
  host: string,
): AccessToken {
  if (!/^[\x21-\x7e]+$/.test(value)) throw unusable(host, 'no usable access_token')
  // The library supports a second type, which needs a proof with every request.
  if (token_type !== 'bearer') throw unusable(host, 'a token that is not a bearer token')
  return { value, lifetimeMs: lifetimeOf(expires_in) }
}

/** docs/readings.md#a25: a token without `expires_in`, or with one within the margin, is used once. */
function lifetimeOf(seconds = 0): number {
  return Math.max(0, seconds - MARGIN_SECONDS) * 1000
}

function refusal(answer: RemoteAnswer, body: JsonObject | undefined, host: string): Fault {
  const { status } = answer
  if (status === 429 || status >= 500) {
    const seconds = /^\d{1,9}$/.exec(answer.header('retry-after')?.trim() ?? '')?.[0]
    return new Fault('upstream', `The token endpoint at ${host} answered ${status}. Try again in a moment.`, {
      retryable: true,
      details: { http_status: status },
      ...(seconds !== undefined && { retryAfterMs: Number(seconds) * 1000 }),
    })
  }
  if (status >= 400) return notAccepted(host, body, status)
  return new Fault(
    'upstream',
    `The token endpoint at ${host} answered ${status} instead of giving a token. Check auth.tokenURL; redirects are not followed.`,
    { retryable: false, details: { http_status: status } },
  )
}

/** Only the registered error code of the response is passed on: the rest may quote the request. */
function notAccepted(host: string, body: JsonObject | undefined, status = 200): Fault {
  const error = typeof body?.error === 'string' && /^[a-z_]{1,40}$/.test(body.error) ? body.error : undefined
  return new Fault(
    'credential-invalid',
    `The token endpoint at ${host} gave no token (${error ?? status}). Check the client's secret and auth.scopes.`,
    { details: { http_status: status, ...(error !== undefined && { oauth_error: error }) } },
  )
}

function unusable(host: string, what: string): Fault {
  return new Fault('upstream', `The token endpoint at ${host} answered with ${what}. Check auth.tokenURL.`)
}

function parseBody(text: string): JsonObject | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : undefined
  } catch {
    // For example a proxy's page. The caller reports what is missing, and no message contains this text.
    return undefined
  }
}

/** Without https, an attacker between the two hosts could read the client's secret. */
function checkTokenUrl(text: string, allowPrivate: boolean): string {
  const url = URL.parse(text)
  if (url?.username !== '' || url.password !== '') {
    throw new Fault('policy-invalid', 'auth.tokenURL must be an absolute https address without a user or password.')
  }
  if (url.protocol === 'https:' || (url.protocol === 'http:' && allowPrivate)) return url.href
  throw new Fault(
    'policy-invalid',
    'auth.tokenURL must be https. For one in your own network set "allowPrivate" for it in "tokenEndpoints".',
  )
}

function formEncode(text: string): string {
  return new URLSearchParams({ v: text }).toString().slice(2)
}
