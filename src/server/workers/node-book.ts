/**
 * The numbers of the workers as nodes on a store that they share. When a worker has ended, another one takes over from
 * it at once. Otherwise the other nodes would wait until it was silent for long.
 */
import type { Channel } from '../../stores/hub/index.ts'
import type { AskBriefly } from './pipe-book.ts'

export class NodeBook {
  readonly #ask: AskBriefly
  /** A worker that others took for dead has further numbers. */
  readonly #numbers = new Map<Channel, Set<number>>()
  /** Nodes that have ended, and that no worker has taken over from yet. */
  readonly #ended = new Set<number>()

  constructor(ask: AskBriefly) {
    this.#ask = ask
  }

  serve(worker: Channel): void {
    worker.on('node', (node: number) => {
      const numbers = this.#numbers.get(worker) ?? new Set()
      this.#numbers.set(worker, numbers.add(node))
      void this.#handOver()
    })
  }

  /** The process of this worker has ended. */
  async leave(worker: Channel): Promise<void> {
    for (const node of this.#numbers.get(worker) ?? []) this.#ended.add(node)
    this.#numbers.delete(worker)
    await this.#handOver()
  }

  /** If no worker can take over now, the next one that starts does. */
  async #handOver(): Promise<void> {
    for (const node of this.#ended) if (await this.#isTakenOver(node)) this.#ended.delete(node)
  }

  /** A worker that takes longer than that does it all the same, and a second one finds nothing to do. */
  async #isTakenOver(node: number): Promise<boolean> {
    for (const worker of [...this.#numbers.keys()]) if (await this.#ask<true>(worker, 'ended', [node])) return true
    return false
  }
}
