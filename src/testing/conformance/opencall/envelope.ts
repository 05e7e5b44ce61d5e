/** What holds for every response envelope, whatever was asked. OpenCALL, "Invocation Response Envelope (Canonical)". */
import {
  type JsonMembers,
  must,
  mustBeEpochSeconds,
  mustBeObject,
  mustBeOneOf,
  mustBeText,
  mustEqual,
  shown,
} from '../assertions.ts'
import { Unmet } from '../case.ts'
import { type HttpAnswer, parseJson } from '../http.ts'

export interface Envelope extends JsonMembers {
  requestId: string
  state: 'accepted' | 'pending' | 'complete' | 'streaming' | 'error'
  location?: { uri: string; auth?: JsonMembers }
  error?: { code: string; message: string; cause?: JsonMembers }
}

/** What a request said about itself, as far as it comes back. */
export interface Sent {
  requestId?: string
  sessionId?: string
}

const STATES = ['accepted', 'pending', 'complete', 'streaming', 'error']
const STATES_WITH: Readonly<Record<string, readonly string[]>> = {
  result: ['complete'],
  error: ['error'],
  stream: ['streaming'],
  location: ['accepted', 'pending', 'complete', 'streaming'],
}

export function checkEnvelope(answer: HttpAnswer, sent: Sent = {}): Envelope {
  try {
    return check(answer, sent)
  } catch (thrown) {
    // The response that is wrong is the one to show, whatever else is under way.
    throw thrown instanceof Unmet ? new Unmet(thrown.message, { answer }) : thrown
  }
}

function check(answer: HttpAnswer, sent: Sent): Envelope {
  const body = parseJson(answer)
  const of = (field: string) => `${field} of the response to ${answer.asked}`
  mustBeText(body.requestId, of('requestId'))
  if (sent.requestId !== undefined) mustEqual(body.requestId, sent.requestId, of('requestId'))
  mustEqual(body.sessionId, sent.sessionId, of('sessionId'))
  mustBeOneOf(body.state, STATES, of('state'))
  checkPayload(body, of)
  if (body.location !== undefined) checkLocation(body.location, of)
  if (body.error !== undefined) checkError(body.error, of)
  if (body.expiresAt !== undefined) mustBeEpochSeconds(body.expiresAt, of('expiresAt'))
  if (body.retryAfterMs !== undefined) {
    must(typeof body.retryAfterMs === 'number' && body.retryAfterMs >= 0, `${of('retryAfterMs')} is not a number.`)
  }
  return body as Envelope
}

/** "result, location, error and stream are mutually exclusive — exactly one is present depending on state". */
function checkPayload(body: JsonMembers, of: (field: string) => string): void {
  const present = Object.keys(STATES_WITH).filter((field) => body[field] !== undefined)
  const waits = body.state === 'accepted' || body.state === 'pending'
  must(
    present.length > 0,
    () => `${of('state')} is ${shown(body.state)} ${waits ? 'without a location to poll' : 'without a payload'}.`,
  )
  must(present.length === 1, () => `${present.join(' and ')} exclude each other ${of('in the envelope')}.`)
  for (const field of present) mustBeOneOf(body.state, STATES_WITH[field] ?? [], `${of('state')} beside ${field}`)
}

function checkLocation(value: unknown, of: (field: string) => string): void {
  const location = mustBeObject(value, of('location'))
  mustBeText(location.uri, of('location.uri'))
  if (location.auth === undefined) return
  const auth = mustBeObject(location.auth, of('location.auth'))
  mustBeText(auth.credentialType, of('location.auth.credentialType'))
  if (auth.expiresAt !== undefined) mustBeEpochSeconds(auth.expiresAt, of('location.auth.expiresAt'))
}

function checkError(value: unknown, of: (field: string) => string): void {
  const error = mustBeObject(value, of('error'))
  mustBeText(error.code, of('error.code'))
  mustBeText(error.message, of('error.message'))
  if (error.cause !== undefined) mustBeObject(error.cause, of('error.cause'))
}
