/** Limits the open event streams per caller: each one holds a connection and a watcher while its call runs. */

import { ANONYMOUS, type Caller, ownerOf } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'

const RETRY_AFTER_MS = 1_000

export class EventStreams {
  readonly #maxPerCaller: number
  readonly #open = new Map<string, number>()

  constructor(maxPerCaller: number) {
    this.#maxPerCaller = maxPerCaller
  }

  /** Returns a function that releases the place. Further calls of it have no effect. */
  enter(caller: Caller = ANONYMOUS): () => void {
    const key = JSON.stringify([caller.tenant, ownerOf(caller)])
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

/** Calls `end` when the source ends or is closed, also before the first read: a generator then runs no `finally`. */
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
