/** One log line for each request, when its answer is out or its client gone. */
import type { RequestListener } from '../carriers/http/index.ts'
import type { Log } from '../core/ports.ts'
import { lineWriter, quoteText } from '../telemetry/index.ts'

export function logRequests(listener: RequestListener, log: Log): RequestListener {
  const write = lineWriter(log)
  return (request, response, next) => {
    const startedAt = performance.now()
    // `close` comes in every case, also where the client left before the end, and once.
    response.on('close', () => {
      const { method = '', url = '' } = request
      const query = url.indexOf('?')
      const path = query < 0 ? url : url.slice(0, query)
      const durationMs = Math.round((performance.now() - startedAt) * 100) / 100
      const asked = `,"method":${quoteText(method)},"path":${quoteText(path)}`
      const left = response.writableFinished ? '' : ',"aborted":true'
      write(`${asked},"status":${response.statusCode},"durationMs":${durationMs}${left}`, 'request')
    })
    listener(request, response, next)
  }
}
