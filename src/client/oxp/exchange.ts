/** One HTTP request and its JSON response: the credential where it may go, no redirects, and a limit of bytes. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Addresses } from './addresses.ts'
import type { Deadline } from './deadline.ts'
import { OxpError } from './error.ts'
import type { OxpToken } from './options.ts'

export interface ExchangeOptions {
  addresses: Addresses
  fetch: typeof globalThis.fetch
  token: OxpToken | undefined
  headers: Readonly<Record<string, string>>
  maxBytes: number
}

export interface Answer {
  readonly address: string
  readonly status: number
  readonly retryAfterMs: number | undefined
  /** `undefined` if the body is not JSON. */
  readonly body: JsonValue | undefined
  readonly contentType: string
}

interface Sending {
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON with POST. Without it the request is a GET. */
  body?: JsonObject
}

export class Exchange {
  readonly #options: ExchangeOptions

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  async send(address: string, deadline: Deadline, sending: Sending = {}): Promise<Answer> {
    const { token, addresses } = this.#options
    const isTrusted = addresses.isTrusted(address)
    const sent = isTrusted ? await deadline.within(resolveToken(token)) : undefined
    const answer = await this.#once(address, deadline, sending, isTrusted, sent)
    if (answer.status !== 401 || sent === undefined || typeof token !== 'function') return answer
    const renewed = await deadline.within(resolveToken(token, sent))
    if (renewed === undefined || renewed === sent) return answer
    return this.#once(address, deadline, sending, isTrusted, renewed)
  }

  async #once(
    address: string,
    deadline: Deadline,
    { headers = {}, body }: Sending,
    isTrusted: boolean,
    token: string | undefined,
  ): Promise<Answer> {
    const init: RequestInit = {
      method: body ? 'POST' : 'GET',
      headers: {
        Accept: 'application/json',
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
        ...(isTrusted && this.#options.headers),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // A redirect could take the credential elsewhere, or the call to a second server.
      redirect: 'manual',
      credentials: isTrusted ? 'same-origin' : 'omit',
      referrerPolicy: 'no-referrer',
      signal: deadline.signal,
    }
    const { fetch, maxBytes } = this.#options
    // Not every `fetch` looks at the signal before it sends.
    if (deadline.signal.aborted) throw deadline.signal.reason.with({ outcome: 'refused' })
    const response = await guarded(address, deadline, () => fetch(address, init))
    const { status, type } = response
    if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
      discard(response)
      throw redirected(address, response)
    }
    const text = await guarded(address, deadline, () => readText(response, maxBytes, deadline))
    return {
      address,
      status,
      retryAfterMs: retryAfterOf(response),
      body: parse(text),
      contentType: response.headers.get('content-type') ?? 'no content type',
    }
  }
}

/** Says what came instead of a response of the protocol. */
export function notOxp({ address, status, contentType, body }: Answer, problem?: string): OxpError {
  const what =
    problem ??
    (body === undefined ? `a body that is not JSON (${contentType})` : `JSON that is not a response of the protocol`)
  return new OxpError(`${address} answered ${status} with ${what}. Check "url" and "protocol".`, {
    code: 'NOT_OXP',
    outcome: 'unknown',
    status,
  })
}

/** The server's own words for a failure. Published servers write `detail` or `error` where the specification has `message`. */
export function saidBy(body: JsonValue | undefined): string | undefined {
  if (!isJsonObject(body)) return undefined
  const { message, detail, error } = body
  const said = message ?? (Array.isArray(detail) ? detail[0] : detail) ?? error
  return typeof said === 'string' ? said : undefined
}

async function resolveToken(token: OxpToken | undefined, refused?: string): Promise<string | undefined> {
  return typeof token === 'function' ? await token(refused) : token
}

async function guarded<T>(address: string, deadline: Deadline, work: () => Promise<T>): Promise<T> {
  try {
    return await deadline.within(work())
  } catch (thrown) {
    if (deadline.signal.aborted) throw deadline.signal.reason
    if (thrown instanceof OxpError) throw thrown
    throw new OxpError(`${address} cannot be reached, or the connection broke. Check the address and the network.`, {
      code: 'UNREACHABLE',
      outcome: 'unknown',
      cause: thrown,
    })
  }
}

async function readText(response: Response, maxBytes: number, deadline: Deadline): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await deadline.within(reader.read())
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > maxBytes) {
      void reader.cancel().catch(ignore)
      throw new OxpError(
        `The response is larger than ${maxBytes} bytes. Set "maxResponseBytes" if it is meant to be that large.`,
        { code: 'RESPONSE_TOO_LARGE', outcome: 'unknown', status: response.status },
      )
    }
    text += decoder.decode(value, { stream: true })
  }
}

function discard(response: Response): void {
  void response.body?.cancel().catch(ignore)
}

/** The body is not wanted, so its failure does not matter. */
function ignore(): void {}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

/** Only the form in seconds: a date depends on the clocks of two machines. */
function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get('retry-after')
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : undefined
}

function redirected(address: string, { status }: Response): OxpError {
  return new OxpError(`${address} answered with a redirect, which is not followed. Set "url" to the new address.`, {
    code: 'REDIRECTED',
    outcome: 'unknown',
    status,
  })
}
