/** Options of a server that is one of several cells. docs/guides/cells.md. */
import { SLOTS } from '../../core/call/slots.ts'
import { Fault } from '../../core/fault.ts'

export interface CellOptions {
  /** The name of the cell that this server belongs to. */
  self: string
  cells: readonly CellDefinition[]
}

export interface CellDefinition {
  name: string
  /** Where the servers of the other cells reach this one: its load balancer, or one of its servers. */
  url: string
  /** Its part of the 4,096 slots: `0-2047`, or several parts separated by commas. Empty: it only forwards. */
  slots: string
}

/** Cells by slot. */
export interface CellMap {
  self: CellDefinition
  named(name: string): CellDefinition | undefined
  of(slot: number): CellDefinition
}

const NAMES: Record<keyof CellOptions, true> = { self: true, cells: true }
const CELL_NAMES: Record<keyof CellDefinition, true> = { name: true, url: true, slots: true }
/** It is the value of a header. */
const NAME = /^[\w.-]{1,64}$/

/** Throws a fault unless every slot belongs to exactly one cell. */
export function parseCells(given: unknown): CellMap {
  const { self, cells } = readObject<CellOptions>('cells', given, NAMES)
  if (!Array.isArray(cells) || cells.length === 0) throw refused('"cells.cells" must be a list of cells.')
  const bySlot = new Array<CellDefinition | undefined>(SLOTS).fill(undefined)
  const byName = new Map<string, CellDefinition>()
  for (const [at, each] of cells.entries()) {
    const cell = readCell(`cells[${at}]`, each)
    if (byName.has(cell.name)) throw refused(`Two cells have the name "${cell.name}".`)
    byName.set(cell.name, cell)
    for (const slot of readSlots(cell)) {
      const other = bySlot[slot]
      if (other) throw refused(`The slot ${slot} belongs to the cells "${other.name}" and "${cell.name}".`)
      bySlot[slot] = cell
    }
  }
  const missing = bySlot.indexOf(undefined)
  if (missing >= 0) throw refused(`The slot ${missing} belongs to no cell. There are ${SLOTS} slots, from 0.`)
  const own = typeof self === 'string' ? byName.get(self) : undefined
  if (!own) throw refused(`There is no cell "${String(self)}". The cells are ${[...byName.keys()].join(', ')}.`)
  return { self: own, named: (name) => byName.get(name), of: (slot) => bySlot[slot] as CellDefinition }
}

function readCell(where: string, given: unknown): CellDefinition {
  const { name, url, slots } = readObject<CellDefinition>(where, given, CELL_NAMES)
  if (typeof name !== 'string' || !NAME.test(name))
    throw refused(`${where}.name must be letters, digits, "_", "." and "-", at most 64.`)
  const target = typeof url === 'string' ? URL.parse(url) : null
  if (!target || !/^https?:$/.test(target.protocol) || target.pathname !== '/' || target.search !== '')
    throw refused(`${where}.url must be an http or https URL without a path, such as https://cell-a.internal:4747.`)
  if (typeof slots !== 'string') throw refused(`${where}.slots must be a text, such as "0-2047".`)
  return { name, url: target.origin, slots }
}

function* readSlots({ name, slots }: CellDefinition): Iterable<number> {
  if (slots.trim() === '') return
  for (const part of slots.split(',')) {
    const [, first, last = first] = /^\s*(\d{1,4})(?:\s*-\s*(\d{1,4}))?\s*$/.exec(part) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (!(from <= to && to < SLOTS))
      throw refused(`The slots of cell "${name}" must be numbers from 0 to ${SLOTS - 1}, such as "0-2047, 3000".`)
    for (let slot = from; slot <= to; slot++) yield slot
  }
}

function readObject<T>(where: string, given: unknown, names: Record<keyof T, true>): { [name in keyof T]?: unknown } {
  if (typeof given !== 'object' || given === null) throw refused(`"${where}" must be an object.`)
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(names, key))
  if (unknown === undefined) return given
  throw refused(`${where} has no option "${unknown}". The options are ${Object.keys(names).join(', ')}.`)
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
