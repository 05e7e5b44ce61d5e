/** The settings of a `wasm` backend. */
import { availableParallelism } from 'node:os'
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isPositive, isText, optional, refuseUnknown } from '../remote/settings.ts'

export interface WasmSettings {
  /** The path of the module file. */
  readonly module: string
  /** Maximum total memory of the module. */
  readonly memoryMb: number
  /** Maximum number of concurrent calls. Each has a thread, and further calls wait. */
  readonly threads: number
  /** Maximum size of the output. */
  readonly maxBytes: number
}

/** A module has 32-bit addresses. */
const MOST_MEMORY_MB = 4_096

export function parseWasmSettings(spec: BackendSpec): WasmSettings {
  refuseUnknown(spec, ['kind', 'module', 'memoryMb', 'threads', 'maxBytes'])
  const file = 'the path of a WebAssembly file, such as ./convert.wasm'
  const module = optional(spec, 'module', isText, file)
  if (module === undefined) throw new Fault('policy-invalid', `backend.module must be ${file}.`)
  return {
    module,
    memoryMb: optional(spec, 'memoryMb', isMemory, `a number of MiB up to ${MOST_MEMORY_MB}, such as 64`) ?? 64,
    threads: optional(spec, 'threads', isPositive, 'a number of threads, such as 4') ?? availableParallelism(),
    maxBytes: optional(spec, 'maxBytes', isPositive, 'a number of bytes, such as 1048576') ?? DEFAULT_MAX_BYTES,
  }
}

function isMemory(value: unknown): value is number {
  return isPositive(value) && value <= MOST_MEMORY_MB
}
