/**
 * The requirements of an operation, such as a person's authorization, and the values that a caller sends to meet them.
 */

import type { Caller } from '../call/caller.ts'
import type { Instance } from '../call/instance.ts'
import { type Asking, answersTo, type Questions } from '../call/questions.ts'
import { Fault } from '../fault.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import type { Authorizations } from '../ports/guard.ts'
import type { Environment } from '../ports/runtime.ts'
import type { Operation } from './operation.ts'

export interface Requirements {
  /** Providers at which the person must have authorized this server. */
  authorization?: readonly AuthorizationNeed[]
  /** Ids of secrets that the caller must send with the call. */
  secrets?: readonly string[]
  /** The call must name the user it acts for. */
  userId?: boolean
  /** Asked before the call is accepted. The call is recorded and started only with the answers. */
  answers?: Questions
}

export interface AuthorizationNeed {
  id: string
  scopes?: readonly string[]
}

/** Values that a caller sends for one call only. They are in memory, and sealed in the store until the call ends. */
export interface Given {
  tokens: ReadonlyMap<string, string>
  secrets: ReadonlyMap<string, string>
  userId?: string
  /** Receives the handler's messages to its caller while it runs. */
  hear?(said: Said): void
  /** Ids of tokens that were sent with the call and are no longer in the store. */
  gone?: readonly string[]
}

/** A message from a handler to its caller. It is not stored. */
export interface Said {
  level: SaidLevel
  message: string
  data?: JsonValue
}

export type SaidLevel = 'debug' | 'info' | 'warning' | 'error'

/** The caller, with the user for whom the call acts. */
export function personOf(caller: Caller, { userId }: Given): Caller {
  return userId === undefined ? caller : { ...caller, userId }
}

export const NOTHING_GIVEN: Given = { tokens: new Map(), secrets: new Map() }

/** The secrets of a call whose sealed record is missing. */
export function leftOf({ extras }: Instance): Given | undefined {
  return extras?.brought && { ...NOTHING_GIVEN, gone: extras.brought }
}

/** Ids of the authorizations whose token was sent with the call, including tokens that are no longer stored. */
export function broughtIn({ tokens, gone = [] }: Given): readonly string[] {
  return [...tokens.keys(), ...gone]
}

export async function checkRequirements(
  operation: Operation,
  caller: Caller,
  given: Given,
  authorizations: Pick<Authorizations, 'token'> | undefined,
): Promise<void> {
  const { authorization: needed = [], secrets = [], userId = false } = operation.requires ?? {}
  const authorization: string[] = []
  for (const { id, scopes = [] } of needed) {
    if (given.gone?.includes(id)) throw tokenGone(id, operation)
    if (!given.tokens.has(id) && (await authorizations?.token(caller, id, scopes)) === undefined) authorization.push(id)
  }
  const missingSecrets = secrets.filter((id) => !given.secrets.has(id))
  const missingUser = userId && caller.userId === undefined
  if (authorization.length + missingSecrets.length === 0 && !missingUser) return
  throw new Fault(
    'requirements-missing',
    `${operation.name.full} ${advice(authorization, missingSecrets, missingUser)}`,
    {
      details: { authorization, secrets: missingSecrets, userId: missingUser },
    },
  )
}

/** Checks that the caller has answered the operation's fixed questions, before the call is recorded. */
export function checkAnswers({ requires, name }: Operation, asking: Asking | undefined, env: Environment): void {
  if (requires?.answers) answersTo(requires.answers, asking, env, name.full)
}

/** The caller chose this token, so the server does not replace it with another one. */
export function tokenGone(id: string, operation: Operation): Fault {
  return goneSince(`token for ${id}`, operation, { authorization: [id], secrets: [], userId: false })
}

export function secretGone(id: string, operation: Operation): Fault {
  return goneSince(`secret "${id}"`, operation, { authorization: [], secrets: [id], userId: false })
}

function goneSince(what: string, { sideEffecting }: Operation, details: JsonObject): Fault {
  // The ids of an attempt with an effect cannot be used again: see `mayHaveActed` in engine/run/running.ts.
  const advice = sideEffecting ? 'Call again, with a new id, if it has had no effect yet.' : 'Call again.'
  return new Fault('requirements-missing', `The ${what} was sent with the call and is no longer available. ${advice}`, {
    details,
  })
}

/** The authorizations that the person has yet to grant, from a `requirements-missing` fault of this operation. */
export function missingAuthorization(operation: Operation, { details }: Fault): readonly AuthorizationNeed[] {
  const missing = details?.authorization
  if (!Array.isArray(missing)) return []
  return operation.requires?.authorization?.filter(({ id }) => missing.includes(id)) ?? []
}

function advice(authorization: readonly string[], secrets: readonly string[], user: boolean): string {
  const parts = [
    authorization.length > 0 ? `needs your authorization at ${authorization.join(', ')}` : '',
    secrets.length > 0 ? `needs the secret ${secrets.join(', ')}` : '',
    user ? 'needs to know for which user it acts' : '',
  ]
  return `${parts.filter((part) => part !== '').join(', and ')}.`
}
