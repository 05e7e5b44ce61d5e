/** Requests to the server under test, and its responses as bytes. */
import { type JsonMembers, must, mustBeObject } from './assertions.ts'
import type { Target } from './case.ts'
import type { HttpAnswer } from './exchange.ts'

export type { HttpAnswer } from './exchange.ts'

/** Limit for one request, so that an unresponsive server does not block the suite. */
const PATIENCE_MS = 30_000

export interface RequestInfo {
  method?: string
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer> | string | FormData
  /** Sends no token. */
  anonymous?: boolean
  /** Sends the other caller's token. */
  asOther?: boolean
}

/** `where` is a path below the target's root, or a full URI from a response. */
export async function sendTo(target: Target, where: string, request: RequestInfo = {}): Promise<HttpAnswer> {
  const { method = 'GET', body } = request
  const root = target.url.replace(/\/+$/, '')
  const url = where.startsWith('/') ? new URL(root + where) : new URL(where, `${root}/`)
  const token = request.anonymous ? undefined : request.asOther ? target.otherToken : target.token
  // A location may be on another host, which must not get the token.
  const isOurs = url.origin === new URL(root).origin
  const credential = token !== undefined && isOurs ? { authorization: `Bearer ${token}` } : undefined
  const headers = { ...credential, ...request.headers }
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body !== undefined && { body }),
  })
  const path = where.startsWith('/') ? where : url.pathname
  const answer: HttpAnswer = {
    asked: `${method} ${path}`,
    sent: {
      method,
      path: where.startsWith('/') ? where : url.href,
      headers: withoutSecrets(headers),
      body: sentText(body),
    },
    status: response.status,
    headers: response.headers,
    bytes: new Uint8Array(await response.arrayBuffer()),
  }
  target.observe?.(answer)
  return answer
}

function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      name.toLowerCase() === 'authorization'
        ? value.replace(/^(\S+) .+$|^\S+$/, (_, scheme = '') => `${scheme} …`.trim())
        : value,
    ]),
  )
}

const SHOWN_CHARACTERS = 600

function sentText(body: RequestInfo['body']): string {
  if (body === undefined) return ''
  if (body instanceof FormData) return `(multipart form with ${[...body.keys()].join(', ')})`
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body.subarray(0, SHOWN_CHARACTERS + 1))
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}

export function parseJson(answer: HttpAnswer): JsonMembers {
  const type = answer.headers.get('content-type') ?? 'no content type'
  const complaint = `The response to ${answer.asked} (${answer.status}) is ${type}, not application/json.`
  must(/^application\/json\s*(;|$)/i.test(type), complaint, { answer })
  const text = textOf(answer)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  return mustBeObject(value, `The body of the response to ${answer.asked} (${text.slice(0, 100)})`)
}

export function textOf(answer: HttpAnswer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(answer.bytes)
}

/** Returns the response if it has the expected status. */
export async function expectStatus<A extends HttpAnswer>(
  status: number | readonly number[],
  pending: Promise<A>,
  what?: string,
): Promise<A> {
  const answer = await pending
  const allowed = typeof status === 'number' ? [status] : status
  must(
    allowed.includes(answer.status),
    () => `${what ?? answer.asked} gets ${answer.status}, not ${allowed.join(' or ')}.`,
    { answer },
  )
  return answer
}
