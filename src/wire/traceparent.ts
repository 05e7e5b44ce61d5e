/**
 * The W3C trace context as text: the `traceparent` that every protocol carries (Trace Context, "traceparent Header").
 */

export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all zero. */
  readonly traceId: string
  /** 16 hexadecimal digits in lower case, not all zero. The standard calls it the parent id. */
  readonly spanId: string
  /** One byte. The lowest bit says that the caller records the trace. */
  readonly flags: number
}

/** Version ff is invalid. Version 00 has exactly four fields; later versions may add fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The only flag that later versions keep. */
const SAMPLED = 1

/** Returns `undefined` for an invalid text: the standard requires that it is ignored and a new trace started. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const found = text === undefined ? null : TRACEPARENT.exec(text)
  if (!found) return undefined
  const [, version, traceId, spanId, digits, more] = found as unknown as [
    string,
    string,
    string,
    string,
    string,
    string?,
  ]
  const flags = Number.parseInt(digits, 16)
  if (version !== '00') return { traceId, spanId, flags: flags & SAMPLED }
  return more === undefined ? { traceId, spanId, flags } : undefined
}

/** Encodes version 00, without the fields and flags of later versions. */
export function encodeTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
}

/** Returns a valid text in the form that this server stores and sends, or `undefined` for an invalid one. */
export function normalizeTraceparent(text: string | undefined): string | undefined {
  const context = parseTraceparent(text)
  return context && (text?.startsWith('00') ? text : encodeTraceparent(context))
}
