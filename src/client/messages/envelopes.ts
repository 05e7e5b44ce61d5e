/** Calls as messages, and what an error in a message says without the status of HTTP. */
import { CallFault } from '../fault.ts'
import type { Envelope, OutgoingCall } from '../options.ts'

/** `iss` and `sub` are claims that the credential proves, so they can be empty. */
export function encodeCall({ operation, args, context, media }: OutgoingCall, token: string | undefined): string {
  return JSON.stringify({
    op: operation,
    args,
    ctx: context,
    media: media && encodeReferences(media),
    auth: token === undefined ? undefined : { iss: '', sub: '', credentialType: 'bearer', credential: token },
  })
}

function encodeReferences(media: NonNullable<OutgoingCall['media']>): object[] {
  return Object.entries(media).flatMap(([name, input]) =>
    input && 'ref' in input ? [{ name, mimeType: input.type, ref: input.ref }] : [],
  )
}

/** True if the call has bytes to upload. A message can have addresses of files only. */
export function hasFiles({ media = {} }: OutgoingCall): boolean {
  return Object.values(media).some((input) => input && !('ref' in input))
}

/** The codes with which a server refuses a call before it runs. Every other code is that of a failed call. */
const STATUSES: Readonly<Record<string, number>> = {
  INVALID_REQUEST: 400,
  INVALID_JSON: 400,
  VALIDATION_ERROR: 400,
  UNKNOWN_OP: 400,
  OP_MISMATCH: 400,
  BODY_TOO_LARGE: 400,
  DELIVERY_NOT_GUARANTEED: 400,
  REPLY_TOPIC_NOT_ALLOWED: 400,
  IDEMPOTENCY_KEY_REUSED: 400,
  IDEMPOTENCY_KEY_REQUIRED: 400,
  DUPLICATE_REQUEST_ID: 400,
  AUTH_REQUIRED: 401,
  INSUFFICIENT_SCOPE: 403,
  POLICY_DENIED: 403,
  REQUIREMENTS_MISSING: 403,
  OP_REMOVED: 410,
  RATE_LIMITED: 429,
  PANIC_OVERLOADED: 503,
  PANIC_UNAVAILABLE: 503,
  PANIC_SHUTTING_DOWN: 503,
}

/** The status that the same response has over HTTP, where its code tells it. */
export function statusIn({ error }: Envelope): number | undefined {
  return error && STATUSES[error.code]
}

export function unreachable(why: string, cause?: unknown): CallFault {
  return new CallFault('UNREACHABLE', `${why} Check the address and the network.`, { cause })
}

/** A package that the program must install beside this one. */
export function packageMissing(name: string, cause: unknown): CallFault {
  return new CallFault('PACKAGE_MISSING', `This transport needs a package. Install it: npm install ${name}`, {
    outcome: 'refused',
    cause,
  })
}
