/** Turns the errors of the MCP client into faults. */
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { faultOfStatus } from '../../protocols/contract/client.ts'
import type { Library } from './library.ts'

export const SESSION_GONE = 'SESSION_GONE'
export const CONNECTION_LOST = 'CONNECTION_LOST'
export const NO_ANSWER = 'NO_ANSWER'

export function faultOfClient(
  thrown: unknown,
  { ProtocolError, SdkError, SdkErrorCode, SdkHttpError }: Library,
): Fault {
  const fault = faultIn(thrown)
  if (fault) return fault
  if (thrown instanceof SdkHttpError) return faultOfStatus(thrown.status ?? 502)
  // JSON-RPC: a server refuses the same request again, so only its own internal failures are worth a retry.
  if (thrown instanceof ProtocolError) {
    return new Fault('upstream', `The MCP server refused the call (${thrown.code}): ${thrown.message}`, {
      code: 'REFUSED_BY_SERVER',
      retryable: thrown.code === INTERNAL_ERROR,
      details: { rpc_code: thrown.code },
      cause: thrown,
    })
  }
  if (thrown instanceof SdkError && UNFIT.some((name) => SdkErrorCode[name] === thrown.code)) {
    return new Fault(
      'upstream',
      `The MCP server's response is invalid (${thrown.code}). Ask its developer to correct it.`,
      {
        code: 'BAD_ANSWER',
        retryable: false,
        cause: thrown,
      },
    )
  }
  return connectionLost(thrown)
}

/** A server may echo a credential in its error messages. The fault's kind and code do not come from the server. */
export function redactFault(fault: Fault, redact: (value: JsonValue) => JsonValue): Fault {
  const { kind, code, retryable, ...said } = fault.toRecord()
  const { message, ...more } = redact(said as unknown as JsonValue) as unknown as typeof said
  return new Fault(kind, message, { ...more, code, retryable, cause: fault.cause })
}

export function connectionLost(cause?: unknown): Fault {
  return new Fault('upstream', 'The connection to the MCP server closed before it responded. Try again.', {
    code: CONNECTION_LOST,
    cause,
  })
}

const INTERNAL_ERROR = -32_603
const UNFIT = [
  'InvalidResult',
  'UnsupportedResultType',
  'ListPaginationExceeded',
  'ClientHttpUnexpectedContent',
] as const

/** The client may have wrapped an error that our own `fetch` threw. */
function faultIn(thrown: unknown): Fault | undefined {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (at instanceof Fault) return at
  }
  return undefined
}
