/**
 * Rewrites a module so that its memory is limited: the limits of a worker thread do not count what WebAssembly
 * allocates. Memory gets a maximum and tables cannot grow. Garbage-collected types are refused. A large allocation of
 * tables or of such types would end the whole process, not only the thread.
 */
import { Fault } from '../../core/fault.ts'
import { encodeLeb, WasmReader } from './wasm-reader.ts'

export const PAGE_BYTES = 65_536

const SECTION = { types: 1, tables: 4, memories: 5 } as const
const FUNCTION_TYPE = 0x60
/** Entries of all tables together. The largest programs have about ten thousand function pointers. */
const MOST_TABLE_ENTRIES = 1_000_000
/** Flags of limits with only a minimum, and with a maximum. All other flags mean shared memory or 64-bit addresses. */
const MINIMUM_ONLY = 0x00
const WITH_MAXIMUM = 0x01

export function limitMemory(bytes: Uint8Array, maxPages: number): Uint8Array {
  const reader = new WasmReader(bytes)
  const parts = [reader.header()]
  while (!reader.done) {
    const id = reader.byte()
    const body = new WasmReader(reader.bytes(reader.u32()))
    const rewritten = rewriteSection(id, body, maxPages)
    parts.push(Uint8Array.of(id, ...encodeLeb(rewritten.length)), rewritten)
  }
  return Buffer.concat(parts)
}

function rewriteSection(id: number, body: WasmReader, maxPages: number): Uint8Array {
  if (id === SECTION.types) checkTypes(body)
  if (id === SECTION.tables) return limitTables(body)
  if (id === SECTION.memories) return limitMemories(body, maxPages)
  return body.whole
}

function checkTypes(body: WasmReader): void {
  for (let count = body.u32(); count > 0; count--) {
    if (body.byte() !== FUNCTION_TYPE) throw refused('uses garbage collected types, whose memory has no limit')
    // Parameters, then results.
    body.valueTypes()
    body.valueTypes()
  }
}

function limitTables(body: WasmReader): Uint8Array {
  const count = body.u32()
  const out = [...encodeLeb(count)]
  let entries = 0
  for (let at = 0; at < count; at++) {
    const type = body.valueType()
    const { flags, minimum } = readLimits(body)
    if (flags > WITH_MAXIMUM) throw refused('has a table of a kind that is not supported')
    entries += minimum
    out.push(...type, WITH_MAXIMUM, ...encodeLeb(minimum), ...encodeLeb(minimum))
  }
  if (entries > MOST_TABLE_ENTRIES) throw refused(`has tables of more than ${MOST_TABLE_ENTRIES} entries`)
  return Uint8Array.from(out)
}

function limitMemories(body: WasmReader, maxPages: number): Uint8Array {
  const count = body.u32()
  if (count === 0) return body.whole
  if (count > 1) throw refused('has more than one memory')
  const { flags, minimum, maximum } = readLimits(body)
  if (flags > WITH_MAXIMUM) throw refused('has a shared memory, or one of 64 bits')
  if (minimum > maxPages) {
    const neededMb = Math.ceil((minimum * PAGE_BYTES) / 1024 / 1024)
    throw new Fault('policy-invalid', `The module needs ${neededMb} MiB to begin with. Raise backend.memoryMb.`)
  }
  const most = Math.min(maximum ?? maxPages, maxPages)
  return Uint8Array.of(1, WITH_MAXIMUM, ...encodeLeb(minimum), ...encodeLeb(most))
}

function readLimits(body: WasmReader): { flags: number; minimum: number; maximum?: number } {
  const flags = body.byte()
  if (flags !== MINIMUM_ONLY && flags !== WITH_MAXIMUM) return { flags, minimum: 0 }
  const minimum = body.u32()
  return flags === WITH_MAXIMUM ? { flags, minimum, maximum: body.u32() } : { flags, minimum }
}

function refused(problem: string): Fault {
  return new Fault('policy-invalid', `The module of backend.module ${problem}. Build it as a plain WASI command.`)
}
