/** Adds to a fault the URLs at which the person can grant each missing authorization. */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { missingAuthorization } from '../../core/operation/requirements.ts'
import type { Authorizations } from '../../core/ports/guard.ts'

/** `url` and `checkUrl` are absent if this server has no provider for the id. */
export async function withChallenges(
  fault: Fault,
  operation: Operation,
  caller: Caller,
  client: { readonly origin: string },
  authorizations: Pick<Authorizations, 'challenge'> | undefined,
): Promise<Fault> {
  const needs = missingAuthorization(operation, fault)
  if (needs.length === 0) return fault
  // Without the user id, the server does not know whose authorization to request.
  const askable = fault.details?.userId !== true
  const challenges = (askable && (await authorizations?.challenge(caller, needs, client.origin))) || []
  const authorization = needs.map((need): JsonObject => {
    const challenge = challenges.find(({ id }) => id === need.id)
    return challenge ? { ...challenge } : { id: need.id }
  })
  return new Fault(fault.kind, fault.message, { ...fault.toRecord(), details: { ...fault.details, authorization } })
}
