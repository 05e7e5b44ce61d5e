/**
 * Routes on node:http. The listener works in `http.createServer`, in Express and in anything else that hands over
 * Node's own request and response. It knows no protocol: what a failure looks like is the route's `refuse`.
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
  /** How to word a failure on a path that no route has. */
  fallback: Refuse
  /** Part of every link, and taken off requests that still have it, such as `/api`. */
  basePath?: string
  /** How long a body or a part that is read as one text may take. */
  bodyTimeoutMs?: number
  /** How long a streamed upload may be silent; how long it takes in all is its own affair. */
  idleTimeoutMs?: number
  /** What a streamed upload must send at the least, and in what time; 30 KiB in 30 s unless given. */
  slowestUpload?: UploadPace['slowestUpload']
  /** How long a client may take nothing of an answer that waits for it. */
  stallTimeoutMs?: number
  log?: Log
}

/** Express passes `next`; then a path that no route has is left to whoever comes after. */
export type RequestListener = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})
const NO_HEADERS: readonly string[] = []

interface Settings extends ExchangeSettings, SendSettings {
  readonly rules: SiteRules | undefined
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
    // A body that came in one packet with its head is handed over right after this event: a microtask later it is there.
    if (bodyOutstanding(exchange)) queueMicrotask(() => begin(exchange, found, handle, settings))
    else begin(exchange, found, handle, settings)
  }
}

interface Found {
  readonly path: string
  readonly entry: RouteEntry
  /** Read where a failure to read them is answered. */
  params: Readonly<Record<string, string>> | undefined
}

/** Most requests are for the path of the one before them: with a parameter in it, to find it again took 0.6 µs. */
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

/** Neither of the two throws: each ends in a refusal, or gives the connection up. */
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
  if (!(thrown instanceof Fault)) settings.log?.error({ err: thrown, path: exchange.path }, 'A request failed.')
  refuseWith(exchange, refuse, { kind: 'fault', fault: Fault.from(thrown) }, settings)
}

function refuseWith(exchange: NodeExchange, refuse: Refuse, why: Refusal, settings: Settings): void {
  try {
    deliver(exchange, refuse(exchange, why), undefined, settings)
  } catch (thrown) {
    giveUp(exchange, thrown, settings)
  }
}

/** `refuse` is absent where the answer is a refusal itself, which is not refused again. */
function deliver(exchange: NodeExchange, answer: Answer, refuse: Refuse | undefined, settings: Settings): void {
  // An answer given at once, to a request whose small body is only now being handed over: a microtask later it is
  // known whether the body is all here and the connection can be kept.
  if (bodyOutstanding(exchange)) {
    queueMicrotask(() => transmit(exchange, answer, refuse, settings))
  } else transmit(exchange, answer, refuse, settings)
}

function transmit(exchange: NodeExchange, answer: Answer, refuse: Refuse | undefined, settings: Settings): void {
  try {
    send(exchange, answer, settings.rules?.answerHeaders(exchange) ?? NO_HEADERS, settings)
  } catch (thrown) {
    // Node keeps the reason phrase of the head that failed.
    exchange.response.statusMessage = ''
    if (refuse) fail(exchange, refuse, thrown, settings)
    else giveUp(exchange, thrown, settings)
  }
}

/** A refusal that itself fails: a bug in a protocol, and the client must not hang for it. */
function giveUp({ response, path }: NodeExchange, thrown: unknown, { log }: Settings): void {
  log?.error({ err: thrown, path }, 'A refusal could not be worded or sent.')
  if (response.headersSent) response.destroy()
  else response.writeHead(500, 'Internal Server Error', { Connection: 'close', 'Content-Length': 0 }).end()
}
