/** Checks that apply to every response envelope. OpenCALL, "Invocation Response Envelope (Canonical)". */
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
import { requirementIds } from '../define.ts'
import { type HttpAnswer, parseJson } from '../http.ts'

export interface Envelope extends JsonMembers {
  requestId: string
  state: 'accepted' | 'pending' | 'complete' | 'streaming' | 'error'
  location?: { uri: string; auth?: JsonMembers }
  error?: { code: string; message: string; cause?: JsonMembers }
}

/** The ids of a request that the response must return. */
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
  const body = citing([48, 298], answer, () => parseJson(answer))
  const of = (field: string) => `${field} of the response to ${answer.asked}`
  for (const [numbers, check] of checksOf(body, sent, of)) citing(numbers, answer, check)
  return body as Envelope
}

type Check = readonly [requirements: readonly number[], check: () => void]

function checksOf(body: JsonMembers, sent: Sent, of: (field: string) => string): readonly Check[] {
  return [
    [[49], () => mustBeText(body.requestId, of('requestId'))],
    [[32], () => mustEqual(body.requestId, sent.requestId ?? body.requestId, of('requestId'))],
    [[56], () => mustEqual(body.sessionId, sent.sessionId, of('sessionId'))],
    [[50], () => mustBeOneOf(body.state, STATES, of('state'))],
    [[61], () => checkPayload(body, of)],
    [[83], () => checkLocation(body.location, of)],
    [[63], () => checkError(body.error, of)],
    [[89], () => body.expiresAt === undefined || mustBeEpochSeconds(body.expiresAt, of('expiresAt'))],
    [[88], () => must(isOptionalQuantity(body.retryAfterMs), `${of('retryAfterMs')} is not a number.`)],
  ]
}

/** An envelope flaw has the same level in every case, and the report shows its own response. */
function citing<T>(numbers: readonly number[], answer: HttpAnswer, check: () => T): T {
  try {
    return check()
  } catch (thrown) {
    if (!(thrown instanceof Unmet)) throw thrown
    throw new Unmet(thrown.message, { answer, level: 'must', requirements: requirementIds('opencall', 3, numbers) })
  }
}

function isOptionalQuantity(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && value >= 0)
}

/** "result, location, error and stream are mutually exclusive — exactly one is present depending on state". */
function checkPayload(body: JsonMembers, of: (field: string) => string): void {
  const present = Object.keys(STATES_WITH).filter((field) => body[field] !== undefined)
  const absent = body.state === 'accepted' || body.state === 'pending' ? 'no location to poll' : 'no payload'
  must(present.length > 0, () => `${of('state')} is ${shown(body.state)}, but there is ${absent}.`)
  must(present.length === 1, () => `There are ${present.join(' and ')} side by side ${of('in the envelope')}.`)
  for (const field of present) mustBeOneOf(body.state, STATES_WITH[field] ?? [], `${of('state')} beside ${field}`)
}

function checkLocation(value: unknown, of: (field: string) => string): void {
  if (value === undefined) return
  const location = mustBeObject(value, of('location'))
  mustBeText(location.uri, of('location.uri'))
  if (location.auth === undefined) return
  const auth = mustBeObject(location.auth, of('location.auth'))
  mustBeText(auth.credentialType, of('location.auth.credentialType'))
  if (auth.expiresAt !== undefined) mustBeEpochSeconds(auth.expiresAt, of('location.auth.expiresAt'))
}

function checkError(value: unknown, of: (field: string) => string): void {
  if (value === undefined) return
  const error = mustBeObject(value, of('error'))
  mustBeText(error.code, of('error.code'))
  mustBeText(error.message, of('error.message'))
  if (error.cause !== undefined) mustBeObject(error.cause, of('error.cause'))
}
