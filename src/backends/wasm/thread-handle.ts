/** A thread as its backend sees it: takes one call at a time, and can be ended in the middle of it. */
import { Worker } from 'node:worker_threads'
import { Fault } from '../../core/fault.ts'
import type { RunAnswer, ThreadAnswer, ThreadData } from './thread-messages.ts'

const LIBRARY = '@bjorn3/browser_wasi_shim'

/** Of what the library allocates for a module; the module's own memory is limited in the module. */
const HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 }

export class ThreadHandle {
  readonly #worker: Worker
  readonly #ready = Promise.withResolvers<void>()
  #call: PromiseWithResolvers<RunAnswer> | undefined
  #over: Fault | undefined

  constructor(data: ThreadData) {
    // The sources run as they are in development, so its file has the ending this one has.
    const source = import.meta.url.endsWith('.ts')
    const file = source ? new URL('./thread.ts', import.meta.url) : new URL('./thread.js', import.meta.url)
    this.#worker = new Worker(file, { workerData: data, env: {}, execArgv: [], resourceLimits: HEAP })
    this.#worker.on('message', (message: ThreadAnswer) => {
      if (message === 'ready') this.#ready.resolve()
      else this.#call?.resolve(message)
    })
    this.#worker.on('error', (error) => this.#fail(faultOf(error)))
    this.#worker.on('exit', () =>
      this.#fail(new Fault('unavailable', 'The thread of this call has ended. Send it again.')),
    )
    // Whoever runs a call is told; a thread may also end while there is none.
    this.#ready.promise.catch(() => {})
  }

  get usable(): boolean {
    return this.#over === undefined
  }

  async run(input: Uint8Array<ArrayBuffer>): Promise<RunAnswer> {
    // Only a call keeps the process alive, not a thread that waits for one.
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
      `WebAssembly modules need a package that is not there: npm i ${LIBRARY}`,
      {
        details: { package: LIBRARY },
        cause: error,
      },
    )
  }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new Fault('upstream', 'The tool made its host use more memory than it may. Have its developer look at it.', {
      code: 'OUT_OF_MEMORY',
      retryable: false,
      cause: error,
    })
  }
  return new Fault('internal', 'The thread of this call failed; the server log has the reason.', { cause: error })
}
