/**
 * Logs one line for each request, when its response is complete or its client has disconnected. The line of an upgraded
 * connection is written when it closes.
 */
import type { RequestListener } from '../../carriers/http/index.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { lineWriter, quoteText } from '../../telemetry/index.ts'
import type { ServedRequest } from '../../wire/http/served-request.ts'

export type LogRequest = (request: ServedRequest) => void

export function createRequestLog(log: Log): LogRequest {
  const write = lineWriter(log, 'request')
  const membersOf = rememberMembers()
  return ({ method, target, status, startedAt, finished }) => {
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100
    const members = `${membersOf(method, target, status)}${durationMs}`
    write(finished ? members : `${members},"aborted":true`)
  }
}

/** The listener, with a line for each of its requests. */
export function logRequests(listener: RequestListener, logRequest: LogRequest): RequestListener {
  return (request, response, next) => {
    const startedAt = performance.now()
    // `close` is emitted exactly once, also if the client disconnects early.
    response.on('close', () => {
      const { method = '', url: target = '' } = request
      const { statusCode: status, writableFinished: finished } = response
      logRequest({ method, target, status, startedAt, finished })
    })
    listener(request, response, next)
  }
}

/** The members up to the duration. Most requests have the same path and status as the request before. */
function rememberMembers() {
  let last = { method: '', url: '', status: Number.NaN, members: '' }
  return (method: string, url: string, status: number): string => {
    if (url === last.url && status === last.status && method === last.method) return last.members
    const query = url.indexOf('?')
    const path = quoteText(query < 0 ? url : url.slice(0, query))
    const members = `,"method":${quoteText(method)},"path":${path},"status":${status},"durationMs":`
    // A redacted URL may contain a credential, so it is not cached.
    if (path === `"${url}"`) last = { method, url, status, members }
    return members
  }
}
