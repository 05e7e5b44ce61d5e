/** One log line for each request, when its answer is out or its client gone. */
import type { RequestListener } from '../../carriers/http/index.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { lineWriter, quoteText } from '../../telemetry/index.ts'

export function logRequests(listener: RequestListener, log: Log): RequestListener {
  const write = lineWriter(log, 'request')
  const membersOf = rememberMembers()
  return (request, response, next) => {
    const startedAt = performance.now()
    // `close` comes in every case, also where the client left before the end, and once.
    response.on('close', () => {
      const { method = '', url = '' } = request
      const durationMs = Math.round((performance.now() - startedAt) * 100) / 100
      const members = `${membersOf(method, url, response.statusCode)}${durationMs}`
      write(response.writableFinished ? members : `${members},"aborted":true`)
    })
    listener(request, response, next)
  }
}

/** Up to the duration. Most requests ask for what the one before them asked for, and end as that one did. */
function rememberMembers() {
  let last = { method: '', url: '', status: Number.NaN, members: '' }
  return (method: string, url: string, status: number): string => {
    if (url === last.url && status === last.status && method === last.method) return last.members
    const query = url.indexOf('?')
    const path = quoteText(query < 0 ? url : url.slice(0, query))
    const members = `,"method":${quoteText(method)},"path":${path},"status":${status},"durationMs":`
    // What is not shown as it was sent may be a credential, and no such text is kept.
    if (path === `"${url}"`) last = { method, url, status, members }
    return members
  }
}
