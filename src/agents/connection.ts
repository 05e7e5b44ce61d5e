/**
 * A Callplane server as these helpers speak with it: MCP's stateless revision with its tasks, at an address or in this
 * process. Both take the same road, so that both give the same answers.
 */
import { Fault } from '../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { META, STATELESS_VERSION, TASKS } from '../protocols/mcp/wire.ts'

/** A bearer token, or a function that is asked for one before each request. */
export type Token = string | (() => string | Promise<string>)

type Fetch = (request: Request) => Promise<Response>

/** A server at an address. */
export interface RemoteServer {
  url: string
  token?: Token
  /** Instead of the global `fetch`. */
  fetch?: Fetch
}

/** A server in this process. Whoever has no token is to it what anybody without one is. */
export interface LocalServer {
  server: { readonly fetch: Fetch }
  token?: Token
  /** How the server is called in requests, where its option `hosts` names others than loopback. */
  url?: string
}

export type ToolSource = RemoteServer | LocalServer

export interface Asking {
  headers?: Record<string, string>
  meta?: JsonObject
  signal?: AbortSignal | undefined
}

/** An async operation is a task at once, so that it can be waited for, joined and canceled. */
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
    // Called as a function: a browser's own refuses to be called as a method of something else.
    this.#fetch = (request) => send(request)
  }

  /** The result of one method. `name` is what `Mcp-Name` repeats. */
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

  /** How a call stands, once its state is another or half a minute is over. Nothing if the server does not say. */
  async stateOf(requestId: string, signal?: AbortSignal): Promise<string | undefined> {
    const path = `/ops/${encodeURIComponent(requestId)}`
    const response = await this.#send(path, { headers: { Prefer: 'wait=30' } }, signal)
    const envelope = await this.#json(response, signal)
    return response.ok && isJsonObject(envelope) && typeof envelope.state === 'string' ? envelope.state : undefined
  }

  async #send(path: string, init: RequestInit & { headers: Record<string, string> }, signal?: AbortSignal) {
    const headers = { ...init.headers, ...(await this.#credential()) }
    // A server does not move while it is spoken with, and nobody else is to see the token.
    const request = new Request(this.#url + path, { ...init, headers, redirect: 'error', ...(signal && { signal }) })
    try {
      return await unlessAborted(this.#fetch(request), signal)
    } catch (thrown) {
      throw signal?.aborted ? signal.reason : unreachable(this.#url, thrown)
    }
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

/** Rejects when the signal aborts, also where the work has no connection that this would cut. */
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

function refusedToken(url: string, said = 'It did not say why.'): Fault {
  return new Fault('unauthenticated', `${url} does not accept the token: ${said} Give one with "token".`)
}

function unreachable(url: string, cause: unknown): Fault {
  return new Fault('unavailable', `The server of this tool, ${url}, cannot be reached.`, { code: 'UNREACHABLE', cause })
}

function notOurs(url: string, status: number): Fault {
  return new Fault(
    'upstream',
    `${url}/mcp answered ${status} and nothing of MCP. Is this the address of a Callplane server?`,
    { code: 'NOT_MCP', retryable: false },
  )
}
