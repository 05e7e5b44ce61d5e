/** The pipes between workers, which pass through the hub. It knows the two ends of each, and passes messages on. */
import type { Channel } from '../../stores/hub/index.ts'

interface Ends {
  opened: Channel
  accepted?: Channel
}

/** Asks a worker, and stops waiting if it does not reply soon. */
type Ask = <T>(worker: Channel, name: string, args: readonly unknown[]) => Promise<T | undefined>

export class PipeBook {
  readonly #pipes = new Map<number, Ends>()
  readonly #others: (of: Channel) => readonly Channel[]
  readonly #ask: Ask
  #last = 0

  constructor(others: (of: Channel) => readonly Channel[], ask: Ask) {
    this.#others = others
    this.#ask = ask
  }

  serve(worker: Channel): void {
    worker.on('pipe.open', (about: string) => this.#open(worker, about))
    worker.on('pipe', (pipe: number, ...message: unknown[]) =>
      this.#across(worker, pipe)?.tell('pipe', pipe, ...message),
    )
    worker.on('pipe.close', (pipe: number) => this.#close(worker, pipe))
  }

  /** Closes the pipes of a worker that has ended. */
  leave(worker: Channel): void {
    for (const pipe of [...this.#pipes.keys()]) this.#close(worker, pipe)
  }

  /** Resolves with the number of the pipe as soon as a worker accepts it, or with `null` if none does. */
  async #open(opened: Channel, about: string): Promise<number | null> {
    const pipe = ++this.#last
    this.#pipes.set(pipe, { opened })
    const accepted = Promise.withResolvers<number>()
    const asked = this.#others(opened).map(async (other) => {
      if (await this.#accepts(other, pipe, about)) accepted.resolve(pipe)
    })
    const refused = Promise.all(asked).then(() => {
      if (this.#pipes.get(pipe)?.accepted === undefined) this.#pipes.delete(pipe)
      return null
    })
    return Promise.race([accepted.promise, refused])
  }

  async #accepts(worker: Channel, pipe: number, about: string): Promise<boolean> {
    const accepts = await this.#ask<boolean>(worker, 'pipe.accept', [pipe, about])
    if (accepts === false) return false
    const ends = this.#pipes.get(pipe)
    if (accepts && ends && !ends.accepted) {
      ends.accepted = worker
      return true
    }
    // It replied too late, or the process that opened the pipe has ended.
    worker.tell('pipe.close', pipe)
    return false
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
