/** Pipes between the nodes of one test process, and a way to break them. */
import type { Pipe, PipeMessage, Pipes } from '../../src/core/ports/peers.ts'

type Accepts = Parameters<Pipes['accept']>[0]

export class TestPipes {
  readonly #accepting = new Map<string, Accepts>()
  #nodes = 0
  readonly #broken = new AbortController()

  /** The pipes of one node. */
  forNode(): Pipes {
    const name = `node ${++this.#nodes}`
    return {
      here: name,
      open: async (about, at) => {
        const [here, there] = this.#connect()
        return (await this.#accepting.get(at)?.(about, there)) ? here : undefined
      },
      accept: (accepts) => void this.#accepting.set(name, accepts),
    }
  }

  /** Breaks every pipe. */
  break(): void {
    this.#broken.abort()
  }

  #connect(): [Pipe, Pipe] {
    const closing = new AbortController()
    const signal = AbortSignal.any([closing.signal, this.#broken.signal])
    const receivers: ((message: PipeMessage) => void)[] = [() => {}, () => {}]
    const end = (own: 0 | 1): Pipe => ({
      signal,
      // Messages in transit arrive before the end of the pipe, as over a connection.
      send: (message) => void (signal.aborted || queueMicrotask(() => receivers[1 - own]?.(message))),
      receive: (receiver) => {
        receivers[own] = receiver
      },
      close: () => queueMicrotask(() => closing.abort()),
    })
    return [end(0), end(1)]
  }
}
