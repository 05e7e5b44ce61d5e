/** The six wires, in the order of the switch. */
import { contract } from './contract.ts'
import { mcp } from './mcp.ts'
import { opencall } from './opencall.ts'
import { otc, oxp } from './oxp.ts'
import { rest } from './rest.ts'
import type { Wire, WireId } from './wire.ts'

export const WIRES: readonly Wire[] = [opencall, mcp, oxp, otc, rest, contract]

export function wireOf(id: WireId): Wire {
  return WIRES.find((wire) => wire.id === id) ?? opencall
}

export function isWireId(text: string | undefined): text is WireId {
  return WIRES.some(({ id }) => id === text)
}
