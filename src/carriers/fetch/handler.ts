/**
 * Serves routes as a Fetch handler. It follows the same steps as the listener on node:http: site rules, route, method,
 * handler, and the route's own error responses. The host manages connections and their time limits.
 */

import { Fault } from '../../core/fault.ts'
import type { Answer, Refusal, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { SLOWEST_UPLOAD, type UploadPace } from '../../wire/http/paced-parts.ts'
import { answerRoute } from '../../wire/http/route-answer.ts'
import { createRouteTable, type RouteEntry } from '../../wire/http/route-table.ts'
import { joinedHeader } from '../../wire/http/single-headers.ts'
import { createSiteRules, type SiteOptions } from '../../wire/http/site-rules.ts'
import { FetchExchange } from './fetch-exchange.ts'
import { toResponse } from './response.ts'

export interface FetchOptions extends SiteOptions {
  /** Creates the error response for a path without a route. */
  fallback: Refuse
  /** A path such as `/api`: part of every link, and removed from requests that still have it. */
  basePath?: string
  /** Where the routes are mounted, such as `/api`. Requests outside of it are refused as unknown paths. */
  prefix?: string
  /** Time limit for a body or a part that is read as one text. */
  bodyTimeoutMs?: number
  /** How long a streamed upload may send nothing. */
  idleTimeoutMs?: number
  /** The minimum that a streamed upload must send per period. Default: 30 KiB in 30 s. */
  slowestUpload?: UploadPace['slowestUpload']
  log?: Log
}

/** `prefix` overrides the option for this request. */
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
    if (!(thrown instanceof Fault)) log?.error({ err: thrown, path: exchange.path }, 'a request failed')
    return { kind: 'fault', fault: Fault.from(thrown) }
  }

  function answer(exchange: FetchExchange, entry: RouteEntry | undefined): Promise<Answer> {
    const objection = joinedHeader((name) => exchange.request.headers.get(name)) ?? rules?.objection(exchange)
    return answerRoute(exchange, entry, objection, { fallback, rules })
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
        // The error response failed too. This is a bug in a protocol, and the client still needs a response.
        log?.error({ err: again, path: exchange.path }, 'could not send an error response')
        return new Response(null, { status: 500 })
      }
    }
  }
}
