/** A call is one run of a WASI command: JSON on its standard input, JSON or text on its standard output. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { BackendSpec } from '../../core/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import { decodeRawBytes, encodeRaw } from '../../protocols/contract/client.ts'
import { loadModule } from './load-module.ts'
import { parseWasmSettings, type WasmSettings } from './settings.ts'
import type { RunAnswer } from './thread-messages.ts'
import { ThreadPool } from './thread-pool.ts'
import { wasmTraits } from './traits.ts'

/** Of the tool's error output, in a fault's details. */
const MAX_SAID = 1_000

export function createWasmBackend(spec: BackendSpec, { clock, folder }: BackendParts): Backend {
  const settings = parseWasmSettings(spec)
  const compiled = loadModule(settings, folder)
  const pool = new ThreadPool(settings.threads, clock)
  const { maxBytes } = settings
  return {
    ...wasmTraits,
    async execute(args, context) {
      const module = await compiled()
      const answer = await pool.run({ module, maxBytes }, new TextEncoder().encode(encodeRaw(args)), context)
      const stderr = new TextDecoder().decode(answer.stderr)
      if (stderr !== '') context.log.debug({ stderr }, 'What the module said.')
      if (answer.ending.kind === 'exit' && answer.ending.code === 0) return decodeRawBytes(answer.stdout)
      throw failed(answer, stderr.trim().slice(-MAX_SAID), settings)
    },
    close: () => pool.close(),
  }
}

function failed({ ending, memoryBytes }: RunAnswer, said: string, { maxBytes, memoryMb }: WasmSettings): Fault {
  if (ending.kind === 'too-much-output') {
    return fault(
      `The tool wrote more than the ${maxBytes} bytes it may. Have it answer with less, or raise backend.maxBytes.`,
      { limit_bytes: maxBytes },
      'OUTPUT_TOO_LARGE',
    )
  }
  const details = {
    ...(ending.kind === 'trap' ? { trap: ending.trap } : { exit_code: ending.code }),
    ...(said !== '' && { stderr: said }),
  }
  const limit = memoryMb * 1024 * 1024
  // Being refused more memory is nothing a module reports: it traps or gives up, and then little is left.
  if (memoryBytes > limit - limit / 8) {
    return fault(
      `The tool failed when it had used up its ${memoryMb} MiB of memory. Ask it for less, or raise backend.memoryMb.`,
      { ...details, memory_bytes: memoryBytes, limit_bytes: limit },
      'OUT_OF_MEMORY',
    )
  }
  const how = ending.kind === 'trap' ? `trapped (${ending.trap})` : `ended with exit code ${ending.code}`
  return fault(`The tool ${how}. What it said is in the details and in the log.`, details)
}

function fault(message: string, details: JsonObject, code?: string): Fault {
  return new Fault('upstream', message, { retryable: false, details, ...(code !== undefined && { code }) })
}
