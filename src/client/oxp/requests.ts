/** Encodes calls in the three dialects. */
import type { JsonObject } from '../../core/json.ts'
import { MARKERS, OXP_VERSION } from '../../protocols/oxp/wire.ts'
import type { OxpContext, OxpProtocol } from './options.ts'

export interface ToolCall {
  toolId: string
  callId: string
  input: JsonObject
  traceId?: string | undefined
  context?: OxpContext | undefined
}

export function encodeCall(call: ToolCall, protocol: OxpProtocol, sendVersion: boolean): JsonObject {
  const { toolId, callId, input, traceId, context } = call
  const request: JsonObject = {
    call_id: callId,
    tool_id: toolId,
    input,
    ...(traceId !== undefined && { trace_id: traceId }),
    ...(context && { context: encodeContext(context) }),
  }
  if (protocol === 'oxp') return request
  const $schema = protocol === 'otc' ? MARKERS.otc : MARKERS.wrapped
  return { ...(sendVersion && { $schema }), request }
}

/** OXP has its version in a header. OTC has it in the body. */
export function versionHeader(protocol: OxpProtocol, sendVersion: boolean): Record<string, string> {
  return sendVersion && protocol !== 'otc' ? { 'OXP-Version': OXP_VERSION } : {}
}

function encodeContext({ userId, authorization, secrets }: OxpContext): JsonObject {
  return {
    ...(authorization && { authorization: Object.entries(authorization).map(([id, token]) => ({ id, token })) }),
    ...(secrets && { secrets: Object.entries(secrets).map(([id, value]) => ({ id, value })) }),
    ...(userId !== undefined && { user_id: userId }),
  }
}
