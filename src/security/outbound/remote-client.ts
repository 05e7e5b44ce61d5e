/**
 * The client that speaks with remote tools. Unlike the fetcher it goes where an operator's declaration says, keeps its
 * connections and shows credentials; like it, it connects to checked addresses only. Built on node:http, because the
 * global `fetch` cannot be held to a checked address and costs more for each request.
 */
import { lookup } from 'node:dns/promises'
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { Fault } from '../../core/fault.ts'
import type { RemoteAddress, RemoteAnswer, RemoteClient, RemoteRequest } from '../../core/ports/outbound.ts'
import { mayConnectTo } from './addresses.ts'
import { bareHost, createCheckedLookup, type Resolve } from './rules.ts'

export interface RemoteOptions {
  /** How names become addresses; the system's way unless given. */
  resolve?: Resolve
  /**
   * How long an unused connection is kept. Shorter than the five seconds after which many servers close it: a request
   * must not go out on a connection that is being closed, because nobody could tell whether it was taken.
   */
  keepAliveMs?: number
  /** Connections to one host at a time; more requests than that wait for one. */
  maxConnections?: number
}

export interface ClosableRemoteClient extends RemoteClient {
  /** For those with connections of their own: where a host is, under the same rules. */
  lookup(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]>
  /** Closes what is kept; requests under way are cut off. */
  close(): void
}

export function createRemoteClient(options: RemoteOptions = {}): ClosableRemoteClient {
  const resolve = options.resolve ?? ((hostname: string) => lookup(hostname, { all: true }))
  const routes = new Map<string, Route>()
  const targets = new Map<string, URL>()

  /** A connection that was opened under one rule is not used under another. */
  function routeFor(scheme: string, allowPrivate: boolean): Route {
    const key = allowPrivate ? `private ${scheme}` : scheme
    const known = routes.get(key)
    if (known) return known
    // Asked for when needed, and not imported by name: see carriers/http/server.ts.
    const { Agent, request } = process.getBuiltinModule(scheme === 'https:' ? 'node:https' : 'node:http')
    const checked = createCheckedLookup(resolve, allowPrivate, refusedAddress)
    const { keepAliveMs = 4_000, maxConnections = 256 } = options
    const agent = new Agent({ keepAlive: true, timeout: keepAliveMs, maxSockets: maxConnections, lookup: checked })
    const route: Route = { agent, request, lookup: checked }
    routes.set(key, route)
    return route
  }

  /** Reading and judging an address costs about 4 µs, and most requests go where others went before. */
  function targetAt(text: string, allowPrivate: boolean): URL {
    // Judged under one rule is not judged under the other.
    const key = `${allowPrivate} ${text}`
    const known = targets.get(key)
    if (known) return known
    const url = parseTarget(text, allowPrivate)
    if (targets.size >= MAX_TARGETS) targets.clear()
    targets.set(key, url)
    return url
  }

  return {
    async lookup(hostname, allowPrivate) {
      const family = isIP(hostname)
      const addresses = family === 0 ? await resolve(hostname) : [{ address: hostname, family }]
      if (addresses.every(({ address }) => mayConnectTo(address, allowPrivate))) return addresses
      throw refusedAddress(hostname)
    },
    async send(sent) {
      const url = targetAt(sent.url, sent.allowPrivate ?? false)
      if (sent.signal.aborted) throw calledOff(sent.signal)
      const route = routeFor(url.protocol, sent.allowPrivate ?? false)
      const first = new Sending(url, sent, route, route.agent)
      try {
        return await first.answer
      } catch (error) {
        if (!first.foundClosed || sent.method === 'POST') throw first.explain(error)
      }
      // The kept connection had been closed. What may be repeated without harm is repeated, on a connection of its own.
      const second = new Sending(url, sent, route, false)
      try {
        return await second.answer
      } catch (error) {
        throw second.explain(error)
      }
    },
    close() {
      for (const { agent } of routes.values()) agent.destroy()
      routes.clear()
    },
  }
}

/** Addresses that are made for one call, as when a job is asked after, come and go. */
const MAX_TARGETS = 1_000

interface Route {
  agent: Agent
  request: typeof import('node:http').request
  lookup: LookupFunction
}

const decoder = new TextDecoder()

/** One request on one connection, up to the last byte of its answer. */
class Sending {
  readonly #url: URL
  readonly #sent: RemoteRequest
  readonly #request: ClientRequest
  readonly #done = Promise.withResolvers<RemoteAnswer>()
  readonly #abort = () => this.#fail(calledOff(this.#sent.signal))
  #answering = false

  constructor(url: URL, sent: RemoteRequest, route: Route, agent: Agent | false) {
    this.#url = url
    this.#sent = sent
    const { method, body } = sent
    this.#request = start(route, {
      method,
      host: bareHost(url),
      port: url.port,
      path: url.pathname + url.search,
      headers: headersOf(url, sent),
      agent,
      lookup: route.lookup,
      maxHeaderSize: 16 * 1024,
    })
    this.#request.on('response', (response) => this.#receive(response)).on('error', (error) => this.#fail(error))
    sent.signal.addEventListener('abort', this.#abort)
    this.#request.end(body)
  }

  get answer(): Promise<RemoteAnswer> {
    return this.#done.promise
  }

  /** The connection was a kept one, and it ended without a byte of an answer. */
  get foundClosed(): boolean {
    return this.#request.reusedSocket && !this.#answering && !this.#sent.signal.aborted
  }

  #receive(response: IncomingMessage): void {
    this.#answering = true
    const { maxBytes } = this.#sent
    const { headers } = response
    const objection = objectionTo(response, this.#url, maxBytes)
    if (objection) {
      this.#fail(objection)
      return
    }
    const chunks: Buffer[] = []
    let bytes = 0
    response
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes) this.#fail(tooLarge(maxBytes))
        else chunks.push(chunk)
      })
      .on('error', (error) => this.#fail(error))
      .on('end', () => {
        this.#sent.signal.removeEventListener('abort', this.#abort)
        const whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
        this.#done.resolve({
          status: response.statusCode ?? 0,
          header: (name) => textOf(headers[name.toLowerCase()]),
          text: decoder.decode(whole),
        })
      })
  }

  /** The connection goes with it: what else would come on it belongs to nobody. */
  #fail(error: unknown): void {
    this.#sent.signal.removeEventListener('abort', this.#abort)
    this.#done.reject(error)
    this.#request.destroy()
  }

  /** Only the host is named: the rest of an address may be a secret. */
  explain(error: unknown): Fault {
    if (error instanceof Fault) return error
    const { host } = this.#url
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return new Fault('upstream', `${host} did not answer (${code}). Check that the tool is running and reachable.`, {
      details: { host, cause: code },
      cause: error,
    })
  }
}

function start({ request }: Route, options: RequestOptions): ClientRequest {
  try {
    return request(options)
  } catch (cause) {
    throw new Fault('upstream', 'A header for the tool holds what no header may. Check its secret and its "headers".', {
      code: 'UNSENDABLE',
      retryable: false,
      cause,
    })
  }
}

function headersOf({ host }: URL, { headers, body }: RemoteRequest): Record<string, string | number> {
  return {
    Host: host,
    'User-Agent': 'callplane',
    'Accept-Encoding': 'identity',
    ...headers,
    ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
  }
}

function objectionTo({ headers }: IncomingMessage, url: URL, maxBytes: number): Fault | undefined {
  if (Number(headers['content-length'] ?? 0) > maxBytes) return tooLarge(maxBytes)
  return (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity' ? undefined : encoded(url)
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

function parseTarget(text: string, allowPrivate: boolean): URL {
  const url = URL.parse(text)
  if (!url) throw refused('The address of the tool is not an absolute URL; write it as https://host/path.')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refused(`A tool cannot be called with ${url.protocol} here; use https.`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('The address of the tool carries a user name or password; declare "auth" instead.')
  }
  // A literal address is never looked up, so it is judged here.
  const host = bareHost(url)
  if (isIP(host) !== 0 && !mayConnectTo(host, allowPrivate)) throw refusedAddress(host)
  return url
}

function refusedAddress(host: string): Fault {
  return refused(
    `${host} is at an address that tools may not have: a private one needs "allowPrivate: true" in its declaration, ` +
      'and link-local and metadata addresses are never called.',
  )
}

function refused(message: string): Fault {
  return new Fault('upstream', message, { code: 'TARGET_REFUSED', retryable: false })
}

function calledOff({ reason }: AbortSignal): Fault {
  return reason instanceof Fault ? reason : new Fault('canceled', 'The request was called off.', { cause: reason })
}

function tooLarge(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool answered with more than the ${maxBytes} bytes allowed. Have it answer with less, or raise "maxBytes".`,
    { code: 'ANSWER_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}

function encoded({ host }: URL): Fault {
  return new Fault('upstream', `${host} compresses its answer though it was asked not to. Have it answer plainly.`, {
    code: 'ANSWER_ENCODED',
    retryable: false,
  })
}
