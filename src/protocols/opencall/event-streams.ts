/** How many event streams a caller has open: each holds a connection and a watcher for as long as its call runs. */

import { ANONYMOUS, type Caller, ownerOf } from '../../core/caller.ts'
import { Fault } from '../../core/fault.ts'

const RETRY_AFTER_MS = 1_000

export class EventStreams {
  readonly #maxPerCaller: number
  readonly #open = new Map<string, number>()

  constructor(maxPerCaller: number) {
    this.#maxPerCaller = maxPerCaller
  }

  /** The returned function gives the place back; more than once is as good as once. */
  enter(caller: Caller = ANONYMOUS): () => void {
    const key = `${caller.tenant} ${ownerOf(caller)}`
    const open = this.#open.get(key) ?? 0
    if (open >= this.#maxPerCaller) throw tooMany(this.#maxPerCaller)
    this.#open.set(key, open + 1)
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      const left = (this.#open.get(key) ?? 1) - 1
      if (left > 0) this.#open.set(key, left)
      else this.#open.delete(key)
    }
  }
}

/** Calls `end` when the source ends or is given up, also before it began: a generator that never ran has no `finally`. */
export function withEnd<T>(source: AsyncIterable<T>, end: () => void): AsyncIterable<T> {
  const iterator = source[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          const step = await iterator.next()
          if (step.done) end()
          return step
        } catch (thrown) {
          end()
          throw thrown
        }
      },
      async return() {
        end()
        await iterator.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}

function tooMany(max: number): Fault {
  return new Fault('rate-limited', `You have ${max} event streams open. Close some, or poll with Prefer: wait.`, {
    code: 'TOO_MANY_STREAMS',
    retryAfterMs: RETRY_AFTER_MS,
  })
}
