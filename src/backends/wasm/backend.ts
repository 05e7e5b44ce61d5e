/** Runs each call as one WASI command: JSON on standard input, JSON or text on standard output. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import { decodeRawBytes, encodeRaw } from '../../protocols/contract/client.ts'
import { loadModule } from './load-module.ts'
import { parseWasmSettings, type WasmSettings } from './settings.ts'
import type { RunAnswer } from './thread-messages.ts'
import { ThreadPool } from './thread-pool.ts'
import { wasmTraits } from './traits.ts'

/** Maximum length of the tool's standard error in a fault's details. */
const MAX_SAID = 1_000

export function createWasmBackend(spec: BackendSpec, { clock, folder }: BackendParts): Backend {
  const settings = parseWasmSettings(spec)
  const compiled = loadModule(settings, folder)
  const pool = new ThreadPool(settings.threads, clock)
  const { maxBytes } = settings
  return {
    ...wasmTraits,
    async execute(args, context) {
      // The first call waits for the compiler. That is not the tool's time.
      const module = await context.queued(compiled())
      const answer = await pool.run({ module, maxBytes }, new TextEncoder().encode(encodeRaw(args)), context)
      const stderr = new TextDecoder().decode(answer.stderr)
      if (stderr !== '') context.log.debug({ stderr }, 'module standard error')
      if (answer.ending.kind === 'exit' && answer.ending.code === 0) return decodeRawBytes(answer.stdout)
      throw failed(answer, stderr.trim().slice(-MAX_SAID), settings)
    },
    close: () => pool.close(),
  }
}

function failed({ ending, memoryBytes }: RunAnswer, said: string, { maxBytes, memoryMb }: WasmSettings): Fault {
  if (ending.kind === 'too-much-output') {
    return fault(
      `The tool wrote more than ${maxBytes} bytes. Change the tool to write less, or raise backend.maxBytes.`,
      { limit_bytes: maxBytes },
      'OUTPUT_TOO_LARGE',
    )
  }
  const details = {
    ...(ending.kind === 'trap' ? { trap: ending.trap } : { exit_code: ending.code }),
    ...(said !== '' && { stderr: said }),
  }
  const limit = memoryMb * 1024 * 1024
  // A module does not report a failed memory allocation: it traps or exits. A nearly full memory shows the cause.
  if (memoryBytes > limit - limit / 8) {
    return fault(
      `The tool failed after it used its ${memoryMb} MiB of memory. Send a smaller input, or raise backend.memoryMb.`,
      { ...details, memory_bytes: memoryBytes, limit_bytes: limit },
      'OUT_OF_MEMORY',
    )
  }
  const how = ending.kind === 'trap' ? `trapped (${ending.trap})` : `ended with exit code ${ending.code}`
  return fault(`The tool ${how}. Its standard error is in the details and in the log.`, details)
}

function fault(message: string, details: JsonObject, code?: string): Fault {
  return new Fault('upstream', message, { retryable: false, details, ...(code !== undefined && { code }) })
}
