/** Says for each authorization that a call lacks where the person can give it. */

import type { Caller } from '../../core/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Operation } from '../../core/operation.ts'
import type { Authorizations } from '../../core/ports/guard.ts'
import { missingAuthorization } from '../../core/requirements.ts'

/** `url` and `checkUrl` are missing for what this server knows no provider of. */
export async function withChallenges(
  fault: Fault,
  operation: Operation,
  caller: Caller,
  client: { readonly origin: string },
  authorizations: Pick<Authorizations, 'challenge'> | undefined,
): Promise<Fault> {
  const needs = missingAuthorization(operation, fault)
  if (needs.length === 0) return fault
  // Without the user it acts for, nobody knows whose authorization to ask for.
  const askable = fault.details?.userId !== true
  const challenges = (askable && (await authorizations?.challenge(caller, needs, client.origin))) || []
  const authorization = needs.map((need): JsonObject => {
    const challenge = challenges.find(({ id }) => id === need.id)
    return challenge ? { ...challenge } : { id: need.id }
  })
  return new Fault(fault.kind, fault.message, { ...fault.toRecord(), details: { ...fault.details, authorization } })
}
