/** The W3C trace context as one text, which is how protocols carry it, and as OpenTelemetry has it. */
import type { SpanContext } from '@opentelemetry/api'
import { parseTraceIds } from './trace-ids.ts'

export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const ids = parseTraceIds(text)
  return ids && { traceId: ids.traceId, spanId: ids.spanId, traceFlags: ids.flags & 1, isRemote: true }
}

export function encodeTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`
}
