/** What went wrong with a request to S3, whether it is worth another try, and the fault that the server reports. */
import { Fault } from '../../../core/fault.ts'
import { parseXml, textOf } from './xml.ts'

/** A response that is not a success. */
export interface Problem {
  status: number
  /** S3's own code, such as `SlowDown`. Empty if the response has none, as for HEAD. */
  code: string
  message: string
  requestId: string
  /** The region of the bucket, if S3 says so. */
  region?: string
}

const MAX_TEXT = 300
const BUSY_RETRY_MS = 2_000

const PASSING_STATUSES = new Set([408, 429, 500, 502, 503, 504])
const PASSING_CODES = new Set([
  'SlowDown',
  'RequestTimeout',
  'InternalError',
  'ServiceUnavailable',
  'OperationAborted',
  'ConditionalRequestConflict',
  // The bytes changed on their way.
  'BadDigest',
  'XAmzContentSHA256Mismatch',
  'XAmzContentChecksumMismatch',
  'InvalidDigest',
  'IncompleteBody',
])
const BUSY_CODES = new Set(['SlowDown', 'ServiceUnavailable', 'RequestLimitExceeded', 'Throttling'])
const FULL_CODES = new Set(['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage'])
/** S3 refuses requests that are dated more than 15 minutes wrong. */
const MAX_SKEW_MS = 600_000
const OUTDATED_KEY_CODES = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'TokenRefreshRequired',
])
const REDIRECT_CODES = new Set(['PermanentRedirect', 'TemporaryRedirect', 'AuthorizationHeaderMalformed', 'Redirect'])

export function readProblem(status: number, headers: NodeJS.Dict<string | string[]>, body: string): Problem {
  const { code, message, region } = body.includes('<Error') ? fromXml(body) : { code: '', message: '', region: '' }
  const at = String(headers['x-amz-bucket-region'] ?? '') || region
  return {
    status,
    code,
    message: message.slice(0, MAX_TEXT),
    requestId: String(headers['x-amz-request-id'] ?? '').slice(0, MAX_TEXT),
    ...(at !== '' && { region: at.slice(0, 64) }),
  }
}

/** A proxy in front of the server may send anything, also XML that is none. */
function fromXml(body: string): { code: string; message: string; region: string } {
  try {
    const error = parseXml(body, 'Error')
    return { code: textOf(error, 'Code'), message: textOf(error, 'Message'), region: textOf(error, 'Region') }
  } catch (thrown) {
    if (thrown instanceof Fault) return { code: '', message: '', region: '' }
    throw thrown
  }
}

export function isPassing({ status, code }: Problem): boolean {
  return PASSING_CODES.has(code) || (PASSING_STATUSES.has(status) && !FULL_CODES.has(code))
}

/** The response to HEAD has no text, so a refusal may have either of the two reasons below. */
function isSilentRefusal({ status, code }: Problem): boolean {
  return code === '' && (status === 403 || status === 400)
}

export function isOutdatedKey(problem: Problem): boolean {
  return OUTDATED_KEY_CODES.has(problem.code) || isSilentRefusal(problem)
}

export function isWrongClock(problem: Problem, skewMs: number): boolean {
  return problem.code === 'RequestTimeTooSkewed' || (isSilentRefusal(problem) && Math.abs(skewMs) > MAX_SKEW_MS)
}

/** `STORAGE_REFUSED`: the same happens again until a person changes something. */
export function problemFault(problem: Problem, place: { bucket: string; region: string }): Fault {
  const { status, code } = problem
  const cause = new Error(explain(problem, place))
  if (FULL_CODES.has(code) || status === 507)
    return storageFault('FULL', 'The server has no storage left; try again when space has been freed.', cause)
  if (BUSY_CODES.has(code) || status === 429) return busy(cause)
  if (isPassing(problem)) return unreachable(cause)
  return refused(cause)
}

/** The provider of the credentials failed. Its error may be of a library, and is not for callers. */
export function credentialsFault(thrown: unknown): Fault {
  const said = thrown instanceof Error ? thrown.message : 'The provider gave no reason.'
  return refused(new Error(`There are no credentials for S3: ${said.slice(0, MAX_TEXT * 2)}`, { cause: thrown }))
}

function refused(cause: Error): Fault {
  return storageFault('REFUSED', 'The object storage refuses this server; its log has the reason.', cause)
}

export function busy(cause?: unknown): Fault {
  return storageFault('BUSY', 'The object storage is busy at the moment; try again shortly.', cause, BUSY_RETRY_MS)
}

/** A broken connection, no response in time, or a failure of S3 itself. */
export function unreachable(cause: unknown): Fault {
  return storageFault('FAILED', 'The object storage does not respond; try again later.', cause, BUSY_RETRY_MS)
}

function storageFault(suffix: string, message: string, cause: unknown, retryAfterMs?: number): Fault {
  return new Fault('unavailable', message, {
    code: `STORAGE_${suffix}`,
    ofStorage: true,
    ...(cause !== undefined && { cause }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** For the operator. */
function explain({ status, code, message, requestId, region }: Problem, place: { bucket: string; region: string }) {
  const said = [`S3 responded with ${status}`, code, message, requestId && `(request ${requestId})`]
  return `${said.filter(Boolean).join(' ')}. ${advise(status, code, region, place)}`
}

function advise(status: number, code: string, region: string | undefined, place: { bucket: string; region: string }) {
  if (REDIRECT_CODES.has(code) || (status >= 300 && status < 400)) {
    return region !== undefined && region !== place.region
      ? `The bucket "${place.bucket}" is in the region "${region}", not "${place.region}". Set region=${region}.`
      : `The bucket "${place.bucket}" is at another endpoint. Set region and endpoint to where it is; redirects are not followed.`
  }
  if (status === 404) return `Check that the bucket "${place.bucket}" exists at this endpoint and in "${place.region}".`
  if (status === 403) return `Check the credentials and what they may do in the bucket "${place.bucket}".`
  if (status === 501) return 'This S3 server lacks a feature that the server needs, such as conditional writes.'
  return 'Check the endpoint and the bucket.'
}
