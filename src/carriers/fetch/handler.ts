/**
 * Routes as a Fetch handler. It follows the same path as the listener on node:http: site rules, route, method, handler,
 * and the route's own words for whatever goes wrong. Connections and their time limits belong to the host.
 */

import { Fault } from '../../core/fault.ts'
import type { Answer, Refusal, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { SLOWEST_UPLOAD, type UploadPace } from '../../wire/http/paced-parts.ts'
import { createRouteTable, type RouteEntry, readParams } from '../../wire/http/route-table.ts'
import { joinedHeader } from '../../wire/http/single-headers.ts'
import { createSiteRules, type SiteOptions } from '../../wire/http/site-rules.ts'
import { FetchExchange } from './fetch-exchange.ts'
import { toResponse } from './response.ts'

export interface FetchOptions extends SiteOptions {
  /** How to word a failure on a path that no route has. */
  fallback: Refuse
  /** Part of every link, and taken off requests that still have it, such as `/api`. */
  basePath?: string
  /** Where the routes are mounted, such as `/api`; requests elsewhere are refused as unknown paths. */
  prefix?: string
  /** How long a body or a part that is read as one text may take. */
  bodyTimeoutMs?: number
  /** How long a streamed upload may be silent. */
  idleTimeoutMs?: number
  /** What a streamed upload must send at the least, and in what time; 30 KiB in 30 s unless given. */
  slowestUpload?: UploadPace['slowestUpload']
  log?: Log
}

/** `prefix` overrides the one in the options, for this request. */
export type FetchHandler = (request: Request, prefix?: string) => Promise<Response>

export function createFetchHandler(routes: readonly Route[], options: FetchOptions): FetchHandler {
  const table = createRouteTable(routes)
  const rules = createSiteRules(options)
  const { fallback, log } = options
  const settings = {
    publicUrl: options.publicUrl?.replace(/\/+$/, ''),
    basePath: options.basePath,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 30_000,
    slowestUpload: options.slowestUpload ?? SLOWEST_UPLOAD,
  }

  function respond(exchange: FetchExchange, answer: Answer): Response {
    return toResponse(exchange, answer, rules?.answerHeaders(exchange) ?? [], log)
  }

  function explain(exchange: FetchExchange, thrown: unknown): Refusal {
    if (!(thrown instanceof Fault)) log?.error({ err: thrown, path: exchange.path }, 'A request failed.')
    return { kind: 'fault', fault: Fault.from(thrown) }
  }

  async function answer(exchange: FetchExchange, entry: RouteEntry | undefined): Promise<Answer> {
    const objection = joinedHeader((name) => exchange.request.headers.get(name)) ?? rules?.objection(exchange)
    if (objection) return (entry?.refuse ?? fallback)(exchange, { kind: 'fault', fault: objection })
    if (!entry) return fallback(exchange, { kind: 'path' })
    const { allow, refuse, handles } = entry
    const handle = handles.get(exchange.method)
    if (handle) return handle(exchange, readParams(entry, exchange.path))
    if (exchange.method !== 'OPTIONS') return refuse(exchange, { kind: 'method', allow })
    const headers = { Allow: [...allow, 'OPTIONS'].join(', '), ...rules?.preflightHeaders(exchange, allow) }
    return { status: 204, headers }
  }

  return async (request, prefix = options.prefix ?? '') => {
    const exchange = new FetchExchange(request, prefix, settings)
    const entry = table.find(exchange.path)
    const refuse = entry?.refuse ?? fallback
    try {
      return respond(exchange, await answer(exchange, entry))
    } catch (thrown) {
      try {
        return respond(exchange, refuse(exchange, explain(exchange, thrown)))
      } catch (again) {
        // A refusal that itself fails: a bug in a protocol, and the client must not be left without an answer.
        log?.error({ err: again, path: exchange.path }, 'A refusal could not be worded or sent.')
        return new Response(null, { status: 500 })
      }
    }
  }
}
