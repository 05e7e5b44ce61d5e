/**
 * Tool Contract v1, "Transport-Specific Behavior", external: sends the whole request and requires a strict response.
 */
import type { BackendContext } from '../../core/call/context.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import { decodeResponse, encodeRequest, postToTool } from '../../protocols/contract/client.ts'
import { CONTRACT_VERSION, VERSION_HEADER } from '../../protocols/contract/wire.ts'
import { parseExternalSettings } from './settings.ts'
import { externalTraits } from './traits.ts'

export function createExternalBackend(spec: BackendSpec, parts: BackendParts): Backend {
  const { endpoint, headers, maxBytes, allowPrivate, tool } = parseExternalSettings(spec)
  const own = {
    accept: 'application/json',
    ...headers,
    'content-type': 'application/json',
    [VERSION_HEADER]: CONTRACT_VERSION,
  }
  const naming = { mode: 'external', ...(tool !== undefined && { tool }) }
  return {
    ...externalTraits,
    async execute(args: unknown, context: BackendContext) {
      const body = JSON.stringify(encodeRequest(args, context, naming))
      const sent = { url: endpoint, headers: own, body, maxBytes, allowPrivate }
      return decodeResponse(await postToTool(parts, context, sent), context.key)
    },
  }
}
