/** Limits what a client without a credential can see: public operations, and that other requests need a credential. */
import type { Caller } from '../core/call/caller.ts'
import { Fault } from '../core/fault.ts'
import type { Operation } from '../core/operation/operation.ts'
import { hasScope } from '../core/operation/scopes.ts'
import type { Catalog } from '../core/ports/catalog.ts'

/** Refuses a client without a credential if no operation is public. */
export function requireCredential(
  caller: Caller | undefined,
  catalog: Pick<Catalog, 'hasPublic'>,
  refusal: () => Fault = needsCredential,
): void {
  if (!caller && !catalog.hasPublic) throw refusal()
}

/**
 * Without a credential, an operation that is not public looks the same as one that does not exist. So does an internal
 * one without its scopes.
 */
export function visibleTo(
  caller: Caller | undefined,
  operation: Operation | undefined,
  refusal: () => Fault = needsCredential,
): Operation | undefined {
  if (!caller && !operation?.public) throw refusal()
  const isHidden = caller && operation?.internal && !operation.scopes.every((scope) => hasScope(caller, scope))
  return isHidden ? undefined : operation
}

export function needsCredential(): Fault {
  return new Fault('unauthenticated', 'This server needs authentication. Send "Authorization: Bearer <token>".')
}
