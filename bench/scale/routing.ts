/** Callers on cells: 12 bits of a hash over tenant and owner are the slot, and a table assigns slots to cells. */
import { hash } from 'node:crypto'
import { SLOTS, slotDigits } from '../../src/core/call/slots.ts'

/** Calls per second of each cell, if the caller with rank r sends a share proportional to 1 / r^exponent. */
export function loadsOf(cells: number, callers: number, exponent: number, perSecond: number) {
  const shares = Array.from({ length: callers }, (_, rank) => 1 / (rank + 1) ** exponent)
  const sum = shares.reduce((total, share) => total + share, 0)
  const loads = new Array<number>(cells).fill(0)
  for (const [rank, share] of shares.entries()) {
    const cell = cellOf(slotOf(`tenant-${rank}`, 'owner'), cells)
    loads[cell] = (loads[cell] ?? 0) + (share / sum) * perSecond
  }
  return { loads, largestCaller: ((shares[0] ?? 0) / sum) * perSecond }
}

function slotOf(tenant: string, owner: string): number {
  return Number.parseInt(
    slotDigits((text) => hash('sha256', text, 'hex'), tenant, owner),
    16,
  )
}

/** Ranges of slots of nearly the same length. */
function cellOf(slot: number, cells: number): number {
  return Math.floor((slot * cells) / SLOTS)
}
