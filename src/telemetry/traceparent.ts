/** The W3C trace context as one text, which is how protocols carry it, and as OpenTelemetry has it. */
import { isSpanContextValid, type SpanContext } from '@opentelemetry/api'

// Trace Context, "traceparent Header": version 00 has these four fields and no more; later ones may add some.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Nothing for a text that is not one: the specification has it ignored, and a new trace begun. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, version, traceId, spanId, flags, rest] = (text !== undefined && TRACEPARENT.exec(text)) || []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === '00' && rest !== undefined) return undefined
  const parent: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  return isSpanContextValid(parent) ? parent : undefined
}

export function encodeTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`
}
