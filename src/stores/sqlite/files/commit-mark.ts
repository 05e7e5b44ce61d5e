/**
 * The file beside the database with the number of the last acknowledged commit. It is written after the commit was
 * synced, and is not synced itself. So after a power cut it can be behind the database, but never ahead of it.
 */
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { Log } from '../../../core/ports/runtime.ts'

export interface Mark {
  /** The database's own id, in hex. */
  database: string
  number: number
  at: number
}

const FORMAT = 0x4350434d
const ID_BYTES = 16
const CHECKED_BYTES = 4 + ID_BYTES + 8 + 8
const SLOT_BYTES = CHECKED_BYTES + 4
/**
 * Written alternately: if a write is torn, the other slot has the commit before. A sector apart, so no disk tears both.
 */
const SLOT_OFFSETS = [0, 4096] as const

export function markFile(database: string): string {
  return `${database}-commits`
}

/** `damaged` if the file exists but has no valid slot. */
export function readMark(database: string): Mark | 'damaged' | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(markFile(database))
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw thrown
  }
  const marks = SLOT_OFFSETS.flatMap((offset) => decode(bytes.subarray(offset, offset + SLOT_BYTES)) ?? [])
  return marks.sort((a, b) => b.number - a.number)[0] ?? 'damaged'
}

function decode(slot: Buffer): Mark | undefined {
  if (slot.length < SLOT_BYTES || slot.readUInt32LE(0) !== FORMAT) return undefined
  if (crc32(slot.subarray(0, CHECKED_BYTES)) !== slot.readUInt32LE(CHECKED_BYTES)) return undefined
  return {
    database: slot.toString('hex', 4, 4 + ID_BYTES),
    number: slot.readDoubleLE(4 + ID_BYTES),
    at: slot.readDoubleLE(4 + ID_BYTES + 8),
  }
}

export class CommitMark {
  #fd: number | undefined
  readonly #slot = Buffer.alloc(SLOT_BYTES)
  readonly #log: Log | undefined
  #warned = false
  #written: number | undefined
  #turn = 0

  /**
   * A mark of another database, or of lost commits, is replaced and synced. Otherwise it could come back after a power
   * cut.
   */
  constructor(database: string, first: Mark, log: Log | undefined) {
    this.#log = log
    this.#slot.writeUInt32LE(FORMAT, 0)
    this.#slot.write(first.database, 4, ID_BYTES, 'hex')
    const before = readMark(database)
    const contradicts =
      typeof before === 'object' && (before.database !== first.database || before.number > first.number)
    const fd = openSync(markFile(database), constants.O_RDWR | constants.O_CREAT, 0o600)
    this.#fd = fd
    this.#attempt(() => {
      for (const offset of SLOT_OFFSETS) this.#put(first.number, first.at, offset)
      if (contradicts) fsyncSync(fd)
    })
  }

  write(number: number, at: number): void {
    if (number === this.#written) return
    this.#turn = 1 - this.#turn
    this.#attempt(() => this.#put(number, at, SLOT_OFFSETS[this.#turn] as number))
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  /** If the mark cannot be written, it is behind the database, which is safe. */
  #attempt(write: () => void): void {
    try {
      write()
    } catch (err) {
      if (!this.#warned) this.#log?.warn({ err }, 'could not write the number of the last commit; calls continue')
      this.#warned = true
    }
  }

  #put(number: number, at: number, offset: number): void {
    this.#slot.writeDoubleLE(number, 4 + ID_BYTES)
    this.#slot.writeDoubleLE(at, 4 + ID_BYTES + 8)
    this.#slot.writeUInt32LE(crc32(this.#slot.subarray(0, CHECKED_BYTES)), CHECKED_BYTES)
    if (this.#fd === undefined) return
    writeSync(this.#fd, this.#slot, 0, SLOT_BYTES, offset)
    this.#written = number
  }
}
