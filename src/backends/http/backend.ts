/** Tool Contract v1, "Transport-Specific Behavior", http: any endpoint that takes a POST can be a tool. */
import type { BackendContext } from '../../core/context.ts'
import type { BackendSpec } from '../../core/operation.ts'
import type { Backend, BackendParts } from '../../core/ports.ts'
import { sendWithCredential } from '../../core/send-with-credential.ts'
import { decodeRaw, encodeRaw, faultOfStatus, parseRetryAfter } from '../../protocols/contract/client.ts'
import { parseHttpSettings } from './settings.ts'

export function createHttpBackend(spec: BackendSpec, { remote, clock }: BackendParts): Backend {
  const { endpoint, headers: declared, maxBytes, allowPrivate } = parseHttpSettings(spec)
  return {
    kind: 'http',
    async execute(args: unknown, context: BackendContext) {
      const { signal, key } = context
      const body = encodeRaw(args)
      const type = typeof args === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
      // The same at every attempt, so that a tool can tell a repeat from another call.
      const own = { 'content-type': type, ...declared, 'x-request-id': key }
      const answer = await sendWithCredential(
        context,
        (credential) =>
          remote.send({
            method: 'POST',
            url: endpoint,
            headers: { ...own, ...credential },
            body,
            maxBytes,
            allowPrivate,
            signal,
          }),
        ({ status }) => status === 401,
      )
      if (answer.status >= 200 && answer.status < 300) return decodeRaw(answer.text)
      throw faultOfStatus(answer.status, parseRetryAfter(answer.header('retry-after'), clock.now()))
    },
  }
}
