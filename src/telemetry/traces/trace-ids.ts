/** The ids in a W3C traceparent, without OpenTelemetry: logs have them whether or not anybody traces. */

// Trace Context, "traceparent Header": version 00 has these four fields and no more; later ones may add some. An id of
// zeros is none.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export interface TraceIds {
  traceId: string
  spanId: string
  flags: number
}

/** Nothing for a text that is not one: the specification has it ignored, and a new trace begun. */
export function parseTraceIds(text: string | undefined): TraceIds | undefined {
  const [, version, traceId, spanId, flags, rest] = (text !== undefined && TRACEPARENT.exec(text)) || []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return version === '00' && rest !== undefined ? undefined : { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
