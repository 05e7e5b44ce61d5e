/**
 * Refuses callers that belong to another cell. Request ids and idempotency keys are unique only within a cell, so a
 * caller's calls must all be in the same one. Administrators act on the cell that they address.
 */
import { ANONYMOUS } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { Guard } from '../../core/ports/guard.ts'
import { isOurs } from '../../engine/admin/operations.ts'
import type { CellMap } from '../options/cells.ts'
import { slotOfCaller } from './caller-slot.ts'

export function createCellGuard(cells: CellMap): Guard {
  return {
    admit(caller, operation) {
      // Calls without a credential stay where they arrive.
      if (isOurs(operation) || caller.issuer === ANONYMOUS.issuer) return
      const cell = cells.of(slotOfCaller(caller))
      if (cell !== cells.self) throw wrongCell(cell.name)
    },
  }
}

function wrongCell(name: string): Fault {
  return new Fault(
    'forbidden',
    `Your calls belong to the cell "${name}". Send them there, or send the credential in a header, so that they can be forwarded.`,
    { code: 'WRONG_CELL' },
  )
}
