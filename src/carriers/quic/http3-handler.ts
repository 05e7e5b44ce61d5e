/**
 * Serves routes over HTTP/3. It follows the same steps as the listener on node:http: site rules, route, method, handler,
 * and the route's own error responses.
 */
import { Fault } from '../../core/fault.ts'
import type { Answer, Refusal, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { SLOWEST_UPLOAD, type UploadPace } from '../../wire/http/paced-parts.ts'
import { answerRoute } from '../../wire/http/route-answer.ts'
import { createRouteTable, type RouteEntry } from '../../wire/http/route-table.ts'
import type { ServedRequest } from '../../wire/http/served-request.ts'
import { listedHeader } from '../../wire/http/single-headers.ts'
import { createSiteRules, type SiteOptions } from '../../wire/http/site-rules.ts'
import { Http3Exchange } from './http3-exchange.ts'
import { send } from './http3-send.ts'
import { Unread } from './inbox.ts'
import type { FieldMap, Http3Stream } from './library.ts'
import { CODE } from './stall.ts'

export interface Http3Options extends SiteOptions {
  /** Creates the error response for a path without a route. */
  fallback: Refuse
  /** A path such as `/api`: part of every link, and removed from requests that still have it. */
  basePath?: string
  /** Time limit for a body or a part that is read as one text. */
  bodyTimeoutMs?: number
  /** How long a streamed upload may send nothing. */
  idleTimeoutMs?: number
  /** The minimum that a streamed upload must send per period. Default: 30 KiB in 30 s. */
  slowestUpload?: UploadPace['slowestUpload']
  /** How long a client may read nothing of a waiting response. */
  stallTimeoutMs?: number
  maxHeaderBytes?: number
  log?: Log
  /** Called once for each request, when its response is complete or its client has left. */
  served?(request: ServedRequest): void
}

export type StreamHandler = (stream: Http3Stream, fields: FieldMap) => void

export function createHttp3Handler(routes: readonly Route[], options: Http3Options): StreamHandler {
  const table = createRouteTable(routes)
  const rules = createSiteRules(options)
  const unread = new Unread()
  const { fallback, log, maxHeaderBytes = 16 * 1024 } = options
  const sending = { stallTimeoutMs: options.stallTimeoutMs ?? 120_000, log }
  const settings = {
    publicUrl: options.publicUrl?.replace(/\/+$/, ''),
    basePath: options.basePath,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 30_000,
    slowestUpload: options.slowestUpload ?? SLOWEST_UPLOAD,
  }

  function objectionTo(exchange: Http3Exchange): Fault | undefined {
    if (exchange.headBytes > maxHeaderBytes) return headersTooLarge()
    return listedHeader((name) => exchange.isRepeated(name)) ?? rules?.objection(exchange)
  }

  function answer(exchange: Http3Exchange, entry: RouteEntry | undefined): Promise<Answer> {
    const objection = objectionTo(exchange)
    return answerRoute(exchange, entry, objection, { fallback, rules })
  }

  function explain(exchange: Http3Exchange, thrown: unknown): Refusal {
    if (!(thrown instanceof Fault)) log?.error({ err: thrown, path: exchange.path }, 'a request failed')
    return { kind: 'fault', fault: Fault.from(thrown) }
  }

  async function respond(exchange: Http3Exchange): Promise<void> {
    const entry = table.find(exchange.path)
    const noteStatus = options.served && watch(exchange, options.served)
    const deliver = (made: Answer) => {
      send(exchange, made, rules?.answerHeaders(exchange) ?? [], sending)
      noteStatus?.(made.status)
    }
    try {
      deliver(await answer(exchange, entry))
    } catch (thrown) {
      try {
        deliver((entry?.refuse ?? fallback)(exchange, explain(exchange, thrown)))
      } catch (again) {
        // The error response failed too. This is a bug in a protocol, and the client still needs a response.
        log?.error({ err: again, path: exchange.path }, 'could not send an error response')
        giveUp(exchange)
      }
    }
  }

  return (stream, fields) => {
    // Without a listener, a reset by the client would end the process.
    stream.on('error', (err) => log?.debug({ err }, 'an HTTP/3 stream failed'))
    void respond(new Http3Exchange(stream, fields, unread, settings))
  }
}

/** Reports the request when its stream has ended. Returns a function that notes the status of the response. */
function watch({ stream, method, target }: Http3Exchange, served: (request: ServedRequest) => void) {
  const startedAt = performance.now()
  // As in `giveUp`.
  let status = 500
  let isOver = false
  const over = () => {
    if (isOver) return
    isOver = true
    served({ method, target, status, startedAt, finished: stream.writableFinished })
  }
  stream.once('finish', over).once('close', over)
  return (sent: number) => {
    status = sent
  }
}

function giveUp({ stream }: Http3Exchange): void {
  if (stream.destroyed) return
  try {
    stream.respondWithBody({ ':status': '500', 'content-length': '0' }, Buffer.alloc(0))
  } catch {
    stream.close(CODE.internalError)
  }
}

function headersTooLarge(): Fault {
  return new Fault('malformed', 'The path and headers are too large; send fewer or shorter ones.', {
    code: 'HEADERS_TOO_LARGE',
  })
}
