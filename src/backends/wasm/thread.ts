/** The entry point of a worker thread. Runs one call after another, each in a new instance of the module. */
import { parentPort, workerData } from 'node:worker_threads'
import { createHost, Input, Output } from './host.ts'
import type { RunAnswer, ThreadAnswer, ThreadData } from './thread-messages.ts'
import { WASI, type WasmInstance, webAssembly } from './webassembly.ts'

const MAX_STDERR = 4_096

const { module, maxBytes } = workerData as ThreadData

function run(input: Uint8Array): RunAnswer {
  const stdout = new Output(maxBytes, true)
  const stderr = new Output(MAX_STDERR, false)
  const host = createHost(new Input(input), stdout, stderr)
  let instance: WasmInstance | undefined
  const ending = endingOf(() => {
    instance = new webAssembly.Instance(module, { [WASI]: host.wasiImport })
    return host.start(instance)
  })
  return {
    // A module can catch the thrown error and continue.
    ending: stdout.overflowed ? { kind: 'too-much-output' } : ending,
    stdout: stdout.bytes,
    stderr: stderr.bytes,
    memoryBytes: instance?.exports.memory.buffer.byteLength ?? 0,
  }
}

function endingOf(start: () => number): RunAnswer['ending'] {
  try {
    return { kind: 'exit', code: start() }
  } catch (thrown) {
    return { kind: 'trap', trap: trapOf(thrown) }
  }
}

/** Describes errors besides traps: an address outside the module's memory passed to the host, or a stack overflow. */
function trapOf(thrown: unknown): string {
  if (thrown instanceof webAssembly.RuntimeError) return thrown.message
  return thrown instanceof RangeError ? thrown.message : 'unexpected failure of a WASI function'
}

function answer(message: ThreadAnswer): void {
  parentPort?.postMessage(message)
}

parentPort?.on('message', (input: Uint8Array) => answer(run(input)))
answer('ready')
