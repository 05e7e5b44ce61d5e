/**
 * OAuth 2 client credentials (RFC 6749, section 4.4): asks a token endpoint for an access token, through the client
 * that all requests to remote tools take. By hand, because what an OAuth library throws has the whole answer in it,
 * and the token with it.
 */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { RemoteAnswer, RemoteClient, RemoteRequest } from '../../core/ports/outbound.ts'

export interface ClientCredentials {
  tokenURL: string
  scopes: readonly string[]
  clientId: string
  clientSecret: string
}

/** What an operator can say about one token endpoint. */
export interface TokenEndpointRules {
  /** Where the client's secret goes: into the Authorization header, or with `post` into the body. */
  clientAuth?: 'basic' | 'post'
  /** It may be in a private network or on this machine, and there without TLS. */
  allowPrivate?: boolean
  /** Sent besides, such as `{ audience: 'https://api.example.com' }`. */
  parameters?: Readonly<Record<string, string>>
}

export interface AccessToken {
  value: string
  /** How long it may be used again; 0 if it is good for the one use only. */
  lifetimeMs: number
}

export type TokenRequest = Omit<RemoteRequest, 'signal'>

/** So much before the end a token is not used any more: it must still be good when it arrives. */
const MARGIN_SECONDS = 30
const MAX_ANSWER_BYTES = 256 * 1024

/** What is secret in it has passed through `conceal`. */
export function encodeTokenRequest(
  client: ClientCredentials,
  rules: TokenEndpointRules,
  conceal: (value: string) => string,
): TokenRequest {
  const { clientId, clientSecret, scopes } = client
  const { clientAuth = 'basic', allowPrivate = false, parameters } = rules
  const form = new URLSearchParams({ ...parameters, grant_type: 'client_credentials' })
  if (scopes.length > 0) form.set('scope', scopes.join(' '))
  if (clientAuth === 'post') {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  }
  // RFC 6749, section 2.3.1: both are form-encoded before they are put together.
  const pair = `${formEncode(clientId)}:${conceal(formEncode(clientSecret))}`
  return {
    method: 'POST',
    url: checkTokenUrl(client.tokenURL, allowPrivate),
    headers: {
      Accept: 'application/json',
      'Content-Type': 'application/x-www-form-urlencoded',
      ...(clientAuth === 'basic' && { Authorization: `Basic ${conceal(Buffer.from(pair).toString('base64'))}` }),
    },
    body: form.toString(),
    maxBytes: MAX_ANSWER_BYTES,
    allowPrivate,
  }
}

export async function requestToken(
  request: TokenRequest,
  remote: RemoteClient,
  signal: AbortSignal,
): Promise<AccessToken> {
  const answer = await remote.send({ ...request, signal })
  const { host } = new URL(request.url)
  const body = parseBody(answer.text)
  if (answer.status !== 200) throw refusal(answer, body, host)
  if (!body) throw unusable(host, 'something that is not a JSON object')
  // Some say 200 to a refusal.
  if (typeof body.error === 'string') throw notAccepted(host, body)
  const { access_token: value, token_type: type = 'bearer', expires_in: seconds } = body
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) throw unusable(host, 'no usable access_token')
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw unusable(host, 'a token that is not a bearer token')
  return { value, lifetimeMs: lifetimeOf(seconds) }
}

/** Reading A25: without an `expires_in`, or with one that is hardly longer than the margin, it is used once. */
function lifetimeOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' ? Number(expiresIn) : expiresIn
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return 0
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

/** Of the answer only the registered error word goes on: the rest may quote what was sent. */
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
    // A page of a proxy, say: whoever asks says what is missing, and nothing of the text goes into a message.
    return undefined
  }
}

/** Whoever is in between could take the client's secret. */
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
