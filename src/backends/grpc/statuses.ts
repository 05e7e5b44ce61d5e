/** Maps gRPC statuses to faults. docs/readings.md#a30. */
import { Fault, type FaultKind } from '../../core/fault.ts'
import type { GrpcCode } from '../../wire/grpc/headers.ts'
import { GRPC_CODES } from '../../wire/grpc/headers.ts'

interface Meaning {
  kind: FaultKind
  retryable: boolean
  advice: string
}

const LATER = 'Try again later.'
const ARGUMENTS = 'Check the arguments.'
const DECLARATION = 'Check the endpoint and the tool that the operation is declared with.'

const MEANINGS: Record<Exclude<GrpcCode, 'OK'>, Meaning> = {
  CANCELLED: { kind: 'canceled', retryable: false, advice: 'Send the call again if you still need it.' },
  UNKNOWN: { kind: 'upstream', retryable: true, advice: LATER },
  INVALID_ARGUMENT: { kind: 'invalid-input', retryable: false, advice: ARGUMENTS },
  DEADLINE_EXCEEDED: { kind: 'timeout', retryable: true, advice: 'Raise the time limit, or try again later.' },
  NOT_FOUND: { kind: 'unknown-operation', retryable: false, advice: DECLARATION },
  ALREADY_EXISTS: { kind: 'upstream', retryable: false, advice: ARGUMENTS },
  PERMISSION_DENIED: {
    kind: 'credential-forbidden',
    retryable: false,
    advice: 'Grant more rights to the credential of this operation.',
  },
  RESOURCE_EXHAUSTED: { kind: 'upstream', retryable: true, advice: LATER },
  FAILED_PRECONDITION: { kind: 'upstream', retryable: false, advice: 'Meet the condition it names, then call again.' },
  ABORTED: { kind: 'upstream', retryable: true, advice: LATER },
  OUT_OF_RANGE: { kind: 'invalid-input', retryable: false, advice: ARGUMENTS },
  UNIMPLEMENTED: { kind: 'unknown-operation', retryable: false, advice: DECLARATION },
  INTERNAL: { kind: 'upstream', retryable: true, advice: LATER },
  UNAVAILABLE: { kind: 'upstream', retryable: true, advice: LATER },
  DATA_LOSS: { kind: 'upstream', retryable: true, advice: LATER },
  UNAUTHENTICATED: { kind: 'credential-invalid', retryable: false, advice: 'Check the secret that "auth" names.' },
}

export function faultOfGrpc(code: Exclude<GrpcCode, 'OK'>, said: string, retryAfterMs?: number): Fault {
  const { kind, retryable, advice } = MEANINGS[code]
  const words = said.trim() === '' ? '' : `: ${said}`
  return new Fault(kind, `The tool answered with the gRPC status ${code}${words}. ${advice}`, {
    retryable,
    details: { grpc_status: code, grpc_code: GRPC_CODES.indexOf(code) },
    ...(retryable && retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** "HTTP to gRPC Status Code Mapping", for responses of a proxy between this server and the tool. */
export function codeOfHttp(status: number): Exclude<GrpcCode, 'OK'> {
  switch (status) {
    case 400:
      return 'INTERNAL'
    case 401:
      return 'UNAUTHENTICATED'
    case 403:
      return 'PERMISSION_DENIED'
    case 404:
      return 'UNIMPLEMENTED'
    case 429:
    case 502:
    case 503:
    case 504:
      return 'UNAVAILABLE'
    default:
      return 'UNKNOWN'
  }
}
