/** A read-only session of the console changes nothing, on any protocol. */

import { Fault } from '../fault.ts'
import type { Operation } from '../operation/operation.ts'
import type { Caller } from './caller.ts'

/** Throws for a read-only session. `action` completes "This session is read-only and cannot …". */
export function refuseReadOnly(caller: Caller | undefined, action: string): void {
  if (!caller?.session?.readOnly) return
  throw new Fault('forbidden', `This session is read-only and cannot ${action}. Log in without read-only mode.`, {
    code: 'READ_ONLY',
  })
}

export function refuseEffects(
  caller: Caller,
  { name, sideEffecting }: Pick<Operation, 'name' | 'sideEffecting'>,
): void {
  if (sideEffecting) refuseReadOnly(caller, `call ${name.full}, which has side effects`)
}
