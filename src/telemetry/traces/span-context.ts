/** Converts between a W3C traceparent and an OpenTelemetry span context. */
import type { SpanContext } from '@opentelemetry/api'
import { encodeTraceparent, parseTraceparent } from '../../wire/traceparent.ts'

export function parseSpanContext(traceparent: string | undefined): SpanContext | undefined {
  const sent = parseTraceparent(traceparent)
  return sent && { traceId: sent.traceId, spanId: sent.spanId, traceFlags: sent.flags & 1, isRemote: true }
}

export function encodeSpanContext({ traceId, spanId, traceFlags }: SpanContext): string {
  return encodeTraceparent({ traceId, spanId, flags: traceFlags & 1 })
}
