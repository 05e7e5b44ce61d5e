/** Logs one line for each request, when its response is complete or its client has disconnected. */
import type { RequestListener } from '../../carriers/http/index.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { lineWriter, quoteText } from '../../telemetry/index.ts'

export function logRequests(listener: RequestListener, log: Log): RequestListener {
  const write = lineWriter(log, 'request')
  const membersOf = rememberMembers()
  return (request, response, next) => {
    const startedAt = performance.now()
    // `close` is emitted exactly once, also if the client disconnects early.
    response.on('close', () => {
      const { method = '', url = '' } = request
      const durationMs = Math.round((performance.now() - startedAt) * 100) / 100
      const members = `${membersOf(method, url, response.statusCode)}${durationMs}`
      write(response.writableFinished ? members : `${members},"aborted":true`)
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
