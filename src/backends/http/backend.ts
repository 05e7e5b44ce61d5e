/**
 * Tool Contract v1, "Transport-Specific Behavior", http: any endpoint that takes a POST can be a tool. With a `request`
 * template any HTTP API can be one, too.
 */
import type { BackendContext } from '../../core/call/context.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import { decodeRaw, encodeRaw, postToTool, sendToTool } from '../../protocols/contract/client.ts'
import { fillTemplate } from './request/fill.ts'
import { readAnswer } from './request/result.ts'
import { parseHttpSettings } from './settings.ts'
import { httpTraits } from './traits.ts'

export function createHttpBackend(spec: BackendSpec, parts: BackendParts): Backend {
  const { endpoint, headers: declared, maxBytes, allowPrivate, request } = parseHttpSettings(spec)
  return {
    ...httpTraits,
    async execute(args: unknown, context: BackendContext) {
      // The same id on every attempt, so that a tool can recognise a repeated call.
      const own = { ...declared, 'x-request-id': context.key }
      if (request) {
        const filled = fillTemplate(request, endpoint, args)
        const headers = { accept: ACCEPT, ...filled.headers, ...own }
        return readAnswer(await sendToTool(parts, context, { ...filled, headers, maxBytes, allowPrivate }), parts)
      }
      const type = typeof args === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
      const sent = { url: endpoint, headers: { 'content-type': type, ...own }, body: encodeRaw(args) }
      return decodeRaw(await postToTool(parts, context, { ...sent, maxBytes, allowPrivate }))
    },
  }
}

/** An API that can answer in several ways answers with JSON. */
const ACCEPT = 'application/json, */*;q=0.5'
