/** A worker thread as the backend sees it: runs one call at a time and can be terminated during a call. */
import { Worker } from 'node:worker_threads'
import { Fault } from '../../core/fault.ts'
import type { RunAnswer, ThreadAnswer, ThreadData } from './thread-messages.ts'

const LIBRARY = '@bjorn3/browser_wasi_shim'

/** Limits what the library allocates for a module. The module's own memory is limited in the module. */
const HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 }

export class ThreadHandle {
  readonly #worker: Worker
  readonly #ready = Promise.withResolvers<void>()
  #call: PromiseWithResolvers<RunAnswer> | undefined
  #over: Fault | undefined

  constructor(data: ThreadData) {
    // In development the sources run without a build, so the worker's file has the same extension as this file.
    const source = import.meta.url.endsWith('.ts')
    const file = source ? new URL('./thread.ts', import.meta.url) : new URL('./thread.js', import.meta.url)
    this.#worker = new Worker(file, { workerData: data, env: {}, execArgv: [], resourceLimits: HEAP })
    this.#worker.on('message', (message: ThreadAnswer) => {
      if (message === 'ready') this.#ready.resolve()
      else this.#call?.resolve(message)
    })
    this.#worker.on('error', (error) => this.#fail(faultOf(error)))
    this.#worker.on('exit', () =>
      this.#fail(new Fault('unavailable', 'The thread that ran this call has ended. Send the call again.')),
    )
    // The running call receives this error. Without a call the rejection must not count as unhandled.
    this.#ready.promise.catch(() => {})
  }

  get usable(): boolean {
    return this.#over === undefined
  }

  async run(input: Uint8Array<ArrayBuffer>): Promise<RunAnswer> {
    // Only a running call keeps the process alive. An idle thread does not.
    this.#worker.ref()
    try {
      await this.#ready.promise
      if (this.#over) throw this.#over
      this.#call = Promise.withResolvers()
      this.#worker.postMessage(input, [input.buffer])
      return await this.#call.promise
    } finally {
      this.#call = undefined
      this.#worker.unref()
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #fail(why: Fault): void {
    this.#over ??= why
    this.#ready.reject(this.#over)
    this.#call?.reject(this.#over)
  }
}

function faultOf(error: unknown): Fault {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return new Fault(
      'isolation-unavailable',
      `WebAssembly modules need a package that is not installed. Run npm i ${LIBRARY}`,
      {
        details: { package: LIBRARY },
        cause: error,
      },
    )
  }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new Fault('upstream', 'The tool made the host exceed its memory limit. Ask its developer to correct it.', {
      code: 'OUT_OF_MEMORY',
      retryable: false,
      cause: error,
    })
  }
  return new Fault('internal', 'The thread of this call failed; the server log has the reason.', { cause: error })
}
