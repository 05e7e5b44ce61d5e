/**
 * Serves routes on node:http. The listener works in `http.createServer`, in Express and in other hosts that pass Node's
 * own request and response. It knows no protocol: each route's `refuse` creates its error responses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type { Answer, Handle, Refusal, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { SLOWEST_UPLOAD, type UploadPace } from '../../wire/http/paced-parts.ts'
import { createRouteTable, type RouteEntry, type RouteTable, readParams } from '../../wire/http/route-table.ts'
import { repeatedHeader } from '../../wire/http/single-headers.ts'
import { createSiteRules, type SiteOptions, type SiteRules } from '../../wire/http/site-rules.ts'
import { type ExchangeSettings, NodeExchange } from './node-exchange.ts'
import { bodyOutstanding, type SendSettings, send } from './send.ts'

export interface ListenerOptions extends SiteOptions {
  /** Creates the error response for a path without a route. */
  fallback: Refuse
  /** A path such as `/api`: part of every link, and removed from requests that still have it. */
  basePath?: string
  /** Time limit for a body or a part that is read as one text. */
  bodyTimeoutMs?: number
  /** How long a streamed upload may send nothing. Its total time is not limited. */
  idleTimeoutMs?: number
  /** The minimum that a streamed upload must send per period. Default: 30 KiB in 30 s. */
  slowestUpload?: UploadPace['slowestUpload']
  /** How long a client may read nothing of a waiting response. */
  stallTimeoutMs?: number
  /** The value of the header `Alt-Svc` for every response (RFC 7838). */
  altSvc?: () => string | undefined
  log?: Log
}

/** Express passes `next`: the next handler then receives a path without a route. */
export type RequestListener = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})
const NO_HEADERS: readonly string[] = []

interface Settings extends ExchangeSettings, SendSettings {
  readonly rules: SiteRules | undefined
  readonly altSvc: (() => string | undefined) | undefined
}

export function createRequestListener(routes: readonly Route[], options: ListenerOptions): RequestListener {
  const table = createRouteTable(routes)
  const settings: Settings = {
    publicUrl: options.publicUrl?.replace(/\/+$/, ''),
    basePath: options.basePath,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 30_000,
    slowestUpload: options.slowestUpload ?? SLOWEST_UPLOAD,
    stallTimeoutMs: options.stallTimeoutMs ?? 120_000,
    log: options.log,
    rules: createSiteRules(options),
    altSvc: options.altSvc,
  }
  const find = rememberPath(table)
  return (request, response, next) => {
    const exchange = new NodeExchange(request, response, settings)
    const found = find(exchange.path)
    if (!found && next) return next()
    const objection =
      repeatedHeader(request.rawHeaders) ?? settings.rules?.objection(exchange, request.socket.remoteAddress)
    if (objection) {
      return refuseWith(
        exchange,
        found?.entry.refuse ?? options.fallback,
        { kind: 'fault', fault: objection },
        settings,
      )
    }
    if (!found) return refuseWith(exchange, options.fallback, { kind: 'path' }, settings)
    const handle = found.entry.handles.get(exchange.method)
    if (!handle) return otherMethod(exchange, found.entry, settings)
    // Node delivers a body that arrived in one packet with its head right after this event, so it is there one
    // microtask later.
    if (bodyOutstanding(exchange)) queueMicrotask(() => begin(exchange, found, handle, settings))
    else begin(exchange, found, handle, settings)
  }
}

interface Found {
  readonly path: string
  readonly entry: RouteEntry
  /** Read later, where a failure becomes an error response. */
  params: Readonly<Record<string, string>> | undefined
}

/** Most requests have the path of the one before. Finding a path with a parameter again took 0.6 µs. */
function rememberPath(table: RouteTable): (path: string) => Found | undefined {
  let last: Found | undefined
  return (path) => {
    if (last !== undefined && last.path === path) return last
    const entry = table.find(path)
    if (!entry) return undefined
    last = { path, entry, params: entry.segments.length === 0 ? NO_PARAMS : undefined }
    return last
  }
}

function begin(exchange: NodeExchange, found: Found, handle: Handle, settings: Settings): void {
  const { entry } = found
  try {
    found.params ??= Object.freeze(readParams(entry, found.path))
    const answer = handle(exchange, found.params)
    if (answer instanceof Promise) settle(exchange, entry.refuse, answer, settings)
    else deliver(exchange, answer, entry.refuse, settings)
  } catch (thrown) {
    fail(exchange, entry.refuse, thrown, settings)
  }
}

/** Neither function throws: each sends an error response or closes the connection. */
function settle(exchange: NodeExchange, refuse: Refuse, pending: Promise<Answer>, settings: Settings): void {
  pending.then(
    (answer) => deliver(exchange, answer, refuse, settings),
    (thrown: unknown) => fail(exchange, refuse, thrown, settings),
  )
}

function otherMethod(exchange: NodeExchange, entry: RouteEntry, settings: Settings): void {
  const { allow, refuse } = entry
  if (exchange.method === 'OPTIONS') {
    const headers = { Allow: [...allow, 'OPTIONS'].join(', '), ...settings.rules?.preflightHeaders(exchange, allow) }
    deliver(exchange, { status: 204, headers }, refuse, settings)
  } else refuseWith(exchange, refuse, { kind: 'method', allow }, settings)
}

function fail(exchange: NodeExchange, refuse: Refuse, thrown: unknown, settings: Settings): void {
  if (!(thrown instanceof Fault)) settings.log?.error({ err: thrown, path: exchange.path }, 'a request failed')
  refuseWith(exchange, refuse, { kind: 'fault', fault: Fault.from(thrown) }, settings)
}

function refuseWith(exchange: NodeExchange, refuse: Refuse, why: Refusal, settings: Settings): void {
  try {
    deliver(exchange, refuse(exchange, why), undefined, settings)
  } catch (thrown) {
    giveUp(exchange, thrown, settings)
  }
}

/** `refuse` is absent for an error response, which is not replaced by another one. */
function deliver(exchange: NodeExchange, answer: Answer, refuse: Refuse | undefined, settings: Settings): void {
  // A response may be ready before Node has delivered a small request body. One microtask later it is known whether the
  // body is complete and the connection can be kept.
  if (bodyOutstanding(exchange)) {
    queueMicrotask(() => transmit(exchange, answer, refuse, settings))
  } else transmit(exchange, answer, refuse, settings)
}

function transmit(exchange: NodeExchange, answer: Answer, refuse: Refuse | undefined, settings: Settings): void {
  try {
    send(exchange, answer, extraHeaders(exchange, settings), settings)
  } catch (thrown) {
    // Node keeps the reason phrase of the head that failed.
    exchange.response.statusMessage = ''
    if (refuse) fail(exchange, refuse, thrown, settings)
    else giveUp(exchange, thrown, settings)
  }
}

function extraHeaders(exchange: NodeExchange, { rules, altSvc }: Settings): readonly string[] {
  const headers = rules?.answerHeaders(exchange) ?? NO_HEADERS
  const other = altSvc?.()
  return other === undefined ? headers : [...headers, 'Alt-Svc', other]
}

/** The error response failed too. This is a bug in a protocol, and the client must not wait forever. */
function giveUp({ response, path }: NodeExchange, thrown: unknown, { log }: Settings): void {
  log?.error({ err: thrown, path }, 'could not send an error response')
  if (response.headersSent) response.destroy()
  else response.writeHead(500, 'Internal Server Error', { Connection: 'close', 'Content-Length': 0 }).end()
}
