/** Requests to the server under test, and its answers as bytes. */
import { type JsonMembers, must, mustBeObject } from './assertions.ts'
import type { Target } from './case.ts'

export interface HttpAnswer {
  /** Method and path, for messages. */
  asked: string
  status: number
  headers: Headers
  bytes: Uint8Array
}

/** A server that does not answer at all must not keep the suite for ever. */
const PATIENCE_MS = 30_000

export interface RequestInfo {
  method?: string
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer> | string | FormData
  /** Without the target's token. */
  anonymous?: boolean
}

/** `where` is a path below the target's root, or a whole URI from an answer. */
export async function sendTo(
  target: Target,
  where: string,
  { method = 'GET', headers, body, anonymous }: RequestInfo = {},
): Promise<HttpAnswer> {
  const { token } = target
  const root = target.url.replace(/\/+$/, '')
  const credential = token !== undefined && !anonymous ? { authorization: `Bearer ${token}` } : undefined
  const url = where.startsWith('/') ? root + where : new URL(where, `${root}/`)
  const response = await fetch(url, {
    method,
    headers: { ...credential, ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body !== undefined && { body }),
  })
  const asked = `${method} ${where.startsWith('/') ? where : new URL(url).pathname}`
  return {
    asked,
    status: response.status,
    headers: response.headers,
    bytes: new Uint8Array(await response.arrayBuffer()),
  }
}

export function parseJson(answer: HttpAnswer): JsonMembers {
  const type = answer.headers.get('content-type') ?? 'no content type'
  must(/^application\/json\s*(;|$)/i.test(type), `The answer to ${answer.asked} is ${type}, not application/json.`)
  const text = textOf(answer)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  return mustBeObject(value, `The body of the answer to ${answer.asked} (${text.slice(0, 100)})`)
}

export function textOf(answer: HttpAnswer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(answer.bytes)
}

/** The answer, if it has the status it should have. */
export async function expectStatus<A extends HttpAnswer>(status: number, pending: Promise<A>): Promise<A> {
  const answer = await pending
  must(
    answer.status === status,
    () =>
      `${answer.asked} is answered ${answer.status}, not ${status}: ${new TextDecoder().decode(answer.bytes.subarray(0, 300))}`,
  )
  return answer
}
