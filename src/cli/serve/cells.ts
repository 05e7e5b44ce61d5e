/** The cell map of `callplane serve --cells cells.yaml --cell a`. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { CellOptions } from '../../server/options/cells.ts'
import { usageFault } from '../command.ts'

export function readCells(file: string | undefined, self: string | undefined): CellOptions | undefined {
  if (file === undefined && self === undefined) return undefined
  if (file === undefined || self === undefined) throw usageFault('--cells and --cell need each other.')
  try {
    const { cells } = (parse(readFileSync(file, 'utf8')) ?? {}) as { cells?: CellOptions['cells'] }
    // The server checks the rest.
    return { self, cells: cells ?? [] }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw usageFault(`--cells: cannot read ${file}: ${reason}`)
  }
}
