/** The pipes between workers, which pass through the hub. It knows the two ends of each, and passes messages on. */
import type { Channel } from '../../stores/hub/index.ts'

interface Ends {
  opened: Channel
  accepted?: Channel
}

/** Asks a worker, and stops waiting if it does not reply soon. */
export type AskBriefly = <T>(worker: Channel, name: string, args: readonly unknown[]) => Promise<T | undefined>

export class PipeBook {
  readonly #workers = new Map<string, Channel>()
  readonly #pipes = new Map<number, Ends>()
  readonly #ask: AskBriefly
  #last = 0

  constructor(ask: AskBriefly) {
    this.#ask = ask
  }

  serve(worker: Channel): void {
    worker.on('pipe.here', (name: string) => void this.#workers.set(name, worker))
    worker.on('pipe.open', (about: string, at: string) => this.#open(worker, about, at))
    worker.on('pipe', (pipe: number, ...message: unknown[]) =>
      this.#across(worker, pipe)?.tell('pipe', pipe, ...message),
    )
    worker.on('pipe.close', (pipe: number) => this.#close(worker, pipe))
  }

  /** Closes the pipes of a worker that has ended. */
  leave(worker: Channel): void {
    for (const [name, known] of this.#workers) if (known === worker) this.#workers.delete(name)
    for (const pipe of [...this.#pipes.keys()]) this.#close(worker, pipe)
  }

  /** Resolves with the number of the pipe, or with `null` if the worker of this name does not accept it. */
  async #open(opened: Channel, about: string, at: string): Promise<number | null> {
    const worker = this.#workers.get(at)
    if (!worker || worker === opened) return null
    const pipe = ++this.#last
    this.#pipes.set(pipe, { opened })
    const accepts = await this.#ask<boolean>(worker, 'pipe.accept', [pipe, about])
    const ends = this.#pipes.get(pipe)
    if (accepts && ends) {
      ends.accepted = worker
      return pipe
    }
    this.#pipes.delete(pipe)
    // It replied too late, or the process that opened the pipe has ended.
    if (accepts !== false) worker.tell('pipe.close', pipe)
    return null
  }

  /** The other end, if this worker has one end of the pipe. */
  #across(worker: Channel, pipe: number): Channel | undefined {
    const ends = this.#pipes.get(pipe)
    if (ends?.opened === worker) return ends.accepted
    return ends?.accepted === worker ? ends.opened : undefined
  }

  #close(worker: Channel, pipe: number): void {
    const ends = this.#pipes.get(pipe)
    if (ends?.opened !== worker && ends?.accepted !== worker) return
    this.#across(worker, pipe)?.tell('pipe.close', pipe)
    this.#pipes.delete(pipe)
  }
}
