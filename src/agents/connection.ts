/**
 * The connection to a Callplane server: MCP's stateless revision with its tasks, at a URL or in this process. Both
 * follow the same code path, so both give the same results.
 */
import { Fault } from '../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { META, STATELESS_VERSION, TASKS } from '../protocols/mcp/wire.ts'

/** A bearer token, or a function that returns one before each request. */
export type Token = string | (() => string | Promise<string>)

type Fetch = (request: Request) => Promise<Response>

/** A server at a URL. */
export interface RemoteServer {
  url: string
  token?: Token
  /** Replaces the global `fetch`. */
  fetch?: Fetch
}

/** A server in this process. Without a token the caller is anonymous, as over the network. */
export interface LocalServer {
  server: { readonly fetch: Fetch }
  token?: Token
  /** The server's URL in requests. Needed if the server's option `hosts` allows other hosts than loopback. */
  url?: string
}

export type ToolSource = RemoteServer | LocalServer

export interface Asking {
  headers?: Record<string, string>
  meta?: JsonObject
  signal?: AbortSignal | undefined
}

/** An async operation becomes a task immediately, so that it can be awaited, joined and canceled. */
const CAPABILITIES: JsonObject = { extensions: { [TASKS]: {} } }

export class Connection {
  readonly #url: string
  readonly #fetch: Fetch
  readonly #token: Token | undefined

  constructor(source: ToolSource) {
    const local = 'server' in source
    const { url = 'http://127.0.0.1', token } = source
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
      throw new Fault('malformed', `"${url}" is not the address of a server. Write it as http://127.0.0.1:4747.`)
    }
    this.#url = url.replace(/\/+$/, '')
    this.#token = token
    const { fetch: send = fetch } = local ? source.server : source
    // Called as a function: a browser's `fetch` cannot be called as a method of another object.
    this.#fetch = (request) => send(request)
  }

  /** Returns the result of one method. `name` is repeated in `Mcp-Name`. */
  async ask(method: string, params: JsonObject, name?: string, asking: Asking = {}): Promise<JsonObject> {
    const _meta = { [META.version]: STATELESS_VERSION, [META.capabilities]: CAPABILITIES, ...asking.meta }
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'MCP-Protocol-Version': STATELESS_VERSION,
      'Mcp-Method': method,
      ...(name !== undefined && { 'Mcp-Name': name }),
      ...asking.headers,
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
    const response = await this.#send('/mcp', { method: 'POST', headers, body }, asking.signal)
    return this.#resultIn(response, await this.#json(response, asking.signal))
  }

  /**
   * Waits until the call's state changes, or for 30 s, and returns it. `undefined` if the server does not report it.
   */
  async stateOf(requestId: string, signal?: AbortSignal): Promise<string | undefined> {
    const path = `/ops/${encodeURIComponent(requestId)}`
    const response = await this.#send(path, { headers: { Prefer: 'wait=30' } }, signal)
    const envelope = await this.#json(response, signal)
    return response.ok && isJsonObject(envelope) && typeof envelope.state === 'string' ? envelope.state : undefined
  }

  async #send(path: string, init: RequestInit & { headers: Record<string, string> }, signal?: AbortSignal) {
    const headers = { ...init.headers, ...(await this.#credential()) }
    // No redirects: no other host may see the token. Cloudflare Workers do not implement `error`, so `manual`.
    const request = new Request(this.#url + path, { ...init, headers, redirect: 'manual', ...(signal && { signal }) })
    let response: Response
    try {
      response = await unlessAborted(this.#fetch(request), signal)
    } catch (thrown) {
      throw signal?.aborted ? signal.reason : unreachable(this.#url, thrown)
    }
    if (isRedirect(response)) throw redirected(this.#url)
    return response
  }

  async #credential(): Promise<Record<string, string>> {
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token
    if (token === undefined) return {}
    if (/^[!-~]+$/.test(token)) return { Authorization: `Bearer ${token}` }
    throw new Fault('unauthenticated', 'The token must be printable characters without spaces.')
  }

  async #json(response: Response, signal: AbortSignal | undefined): Promise<JsonValue | undefined> {
    let text: string
    try {
      text = await response.text()
    } catch (thrown) {
      throw signal?.aborted ? signal.reason : unreachable(this.#url, thrown)
    }
    try {
      return JSON.parse(text) as JsonValue
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return undefined
      throw thrown
    }
  }

  #resultIn(response: Response, message: JsonValue | undefined): JsonObject {
    const { result, error } = isJsonObject(message) ? message : {}
    if (isJsonObject(result)) return result
    const said = isJsonObject(error) && typeof error.message === 'string' ? error.message : undefined
    if (response.status === 401) throw refusedToken(this.#url, said)
    if (said === undefined) throw notOurs(this.#url, response.status)
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
    const busy = response.status === 429 || response.status === 503
    throw new Fault(busy ? 'unavailable' : 'malformed', said, { ...(wait >= 0 && { retryAfterMs: wait * 1000 }) })
  }
}

/** Rejects when the signal aborts, even if the work itself cannot be aborted. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** A browser hides the status of a redirect. */
function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400)
}

function redirected(url: string): Fault {
  const message = `${url} redirects to another address, and the token is not sent there. Set that address as "url".`
  return new Fault('upstream', message, { code: 'REDIRECTED', retryable: false })
}

function refusedToken(url: string, said = 'The server gave no reason.'): Fault {
  return new Fault('unauthenticated', `${url} does not accept the token: ${said} Set a valid one in "token".`)
}

function unreachable(url: string, cause: unknown): Fault {
  return new Fault('unavailable', `The server of this tool, ${url}, cannot be reached.`, { code: 'UNREACHABLE', cause })
}

function notOurs(url: string, status: number): Fault {
  return new Fault(
    'upstream',
    `${url}/mcp answered ${status} without an MCP message. Check that this is the address of a Callplane server.`,
    { code: 'NOT_MCP', retryable: false },
  )
}
