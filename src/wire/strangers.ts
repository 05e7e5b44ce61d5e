/** What a client without a credential may learn: of public operations, and that a credential is needed for the rest. */
import type { Caller } from '../core/caller.ts'
import { Fault } from '../core/fault.ts'
import type { Operation } from '../core/operation.ts'
import type { Catalog } from '../core/ports/catalog.ts'

/** Where no operation is public, a client without a credential gets no further. */
export function requireCredential(
  caller: Caller | undefined,
  catalog: Pick<Catalog, 'hasPublic'>,
  refusal: () => Fault = needsCredential,
): void {
  if (!caller && !catalog.hasPublic) throw refusal()
}

/** An operation that is not public is as hidden from a client without a credential as one that does not exist. */
export function visibleTo(
  caller: Caller | undefined,
  operation: Operation | undefined,
  refusal: () => Fault = needsCredential,
): Operation | undefined {
  if (!caller && !operation?.public) throw refusal()
  return operation
}

export function needsCredential(): Fault {
  return new Fault('unauthenticated', 'This server needs authentication. Send "Authorization: Bearer <token>".')
}
