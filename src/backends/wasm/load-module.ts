/** Loads a module file, adds the memory limits and compiles it. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Fault } from '../../core/fault.ts'
import { limitMemory, PAGE_BYTES } from './limit-memory.ts'
import type { WasmSettings } from './settings.ts'
import { WASI, type WasmModule, webAssembly } from './webassembly.ts'

/** Reads the file immediately, so that a wrong path fails at server start. Compiles once, on first use. */
export function loadModule({ module, memoryMb }: WasmSettings, folder: string): () => Promise<WasmModule> {
  const file = resolve(folder, module)
  const limited = limitMemory(readModule(file), (memoryMb * 1024 * 1024) / PAGE_BYTES)
  let compiled: Promise<WasmModule> | undefined
  return () => {
    compiled ??= compile(limited)
    return compiled
  }
}

function readModule(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Fault('policy-invalid', `backend.module cannot be read: ${file}. Build it, or correct the path.`, {
      cause,
    })
  }
}

async function compile(bytes: Uint8Array): Promise<WasmModule> {
  const module = await webAssembly.compile(bytes).catch((cause: unknown) => {
    throw new Fault('policy-invalid', 'The file in backend.module does not compile; the server log has the reason.', {
      cause,
    })
  })
  const foreign = webAssembly.Module.imports(module).find((each) => each.module !== WASI || each.kind !== 'function')
  if (foreign) {
    throw new Fault(
      'policy-invalid',
      `The module imports ${foreign.module}.${foreign.name}, which this server does not provide. Build it for ${WASI} only.`,
    )
  }
  const has = (name: string, kind: string) =>
    webAssembly.Module.exports(module).some((each) => each.name === name && each.kind === kind)
  if (!has('_start', 'function') || !has('memory', 'memory')) {
    throw new Fault('policy-invalid', 'The module must export "_start" and "memory". Build it as a WASI command.')
  }
  return module
}
