/** Status codes, messages and time limits in gRPC headers and trailers. "gRPC over HTTP2". */

/** Indexed by number. */
export const GRPC_CODES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const

export type GrpcCode = (typeof GRPC_CODES)[number]

/** UNKNOWN for a number that gRPC does not define. */
export function parseGrpcCode(text: string): GrpcCode {
  return (/^\d{1,2}$/.test(text) ? GRPC_CODES[Number(text)] : undefined) ?? 'UNKNOWN'
}

/** `grpc-message`: UTF-8, percent-encoded except for printable ASCII. */
export function encodeGrpcMessage(message: string): string {
  return message.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent)
}

export function decodeGrpcMessage(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // The specification tells a receiver to show an invalid encoding unchanged.
    return text
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 }

/** `grpc-timeout` in milliseconds; `undefined` if it is invalid. */
export function parseGrpcTimeout(text: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(text)
  return match ? Math.ceil(Number(match[1]) * (UNIT_MS[match[2] as string] as number)) : undefined
}

export function encodeGrpcTimeout(limitMs: number): string {
  const whole = Math.max(1, Math.floor(limitMs))
  return whole < 100_000_000 ? `${whole}m` : `${Math.floor(whole / 1000)}S`
}
