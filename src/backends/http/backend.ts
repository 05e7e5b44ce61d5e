/** Tool Contract v1, "Transport-Specific Behavior", http: any endpoint that takes a POST can be a tool. */
import type { BackendContext } from '../../core/call/context.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import { decodeRaw, encodeRaw, postToTool } from '../../protocols/contract/client.ts'
import { parseHttpSettings } from './settings.ts'
import { httpTraits } from './traits.ts'

export function createHttpBackend(spec: BackendSpec, parts: BackendParts): Backend {
  const { endpoint, headers: declared, maxBytes, allowPrivate } = parseHttpSettings(spec)
  return {
    ...httpTraits,
    async execute(args: unknown, context: BackendContext) {
      const type = typeof args === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
      // The same id on every attempt, so that a tool can recognise a repeated call.
      const headers = { 'content-type': type, ...declared, 'x-request-id': context.key }
      const sent = { url: endpoint, headers, body: encodeRaw(args), maxBytes, allowPrivate }
      return decodeRaw(await postToTool(parts, context, sent))
    },
  }
}
