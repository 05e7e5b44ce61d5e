/** The trace of the active span, if the program uses OpenTelemetry. Its API is found where it registers itself. */

interface SpanContext {
  traceId: string
  spanId: string
  traceFlags: number
}
interface RegisteredApi {
  context?: { active(): { getValue(key: symbol): { spanContext?(): SpanContext } | undefined } }
}

const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')

export function traceparent(): string | undefined {
  const api = (globalThis as { [API]?: RegisteredApi })[API]
  const span = api?.context?.active().getValue(SPAN)?.spanContext?.()
  if (!span || /^0*$/.test(span.traceId)) return undefined
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`
}
