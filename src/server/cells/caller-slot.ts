/** The slot of a caller's calls, the same as in their ids. */
import { hash } from 'node:crypto'
import { type Caller, ownerOf } from '../../core/call/caller.ts'
import { slotOf } from '../../core/call/slots.ts'

export function slotOfCaller(caller: Caller): number {
  return slotOf(digest, caller.tenant, ownerOf(caller))
}

function digest(text: string): string {
  return hash('sha256', text, 'hex')
}
