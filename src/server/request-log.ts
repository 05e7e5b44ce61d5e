/** One log line for each request, when its answer is out or its client gone. */
import type { RequestListener } from '../carriers/http/index.ts'
import type { Log } from '../core/ports.ts'

export function logRequests(listener: RequestListener, log: Log): RequestListener {
  return (request, response, next) => {
    const startedAt = performance.now()
    // `close` comes in every case, also where the client left before the end.
    response.once('close', () => {
      const { method, url = '' } = request
      const [path] = url.split('?')
      const durationMs = Math.round((performance.now() - startedAt) * 100) / 100
      const fields = {
        method,
        path,
        status: response.statusCode,
        durationMs,
        ...(!response.writableFinished && { aborted: true }),
      }
      log.info(fields, 'request')
    })
    listener(request, response, next)
  }
}
