/**
 * Bounds the memory of all uploads together. S3 needs the length of a part before its first byte, so a part is collected
 * first. An upload that finds no room waits, and with it its source. If it waits too long, it fails: the others may be
 * waiting for slow callers.
 */
import type { Clock } from '../../core/ports/runtime.ts'
import { busy } from './http/problems.ts'

export interface Budget {
  /** Resolves when this many bytes are free. */
  take(bytes: number): Promise<void>
  give(bytes: number): void
}

export function createBudget(maxBytes: number, patienceMs: number, clock: Pick<Clock, 'schedule'>): Budget {
  let free = maxBytes
  const waiting: { bytes: number; enter(): void }[] = []

  function admit(): void {
    for (let first = waiting[0]; first && first.bytes <= free; first = waiting[0]) {
      waiting.shift()
      free -= first.bytes
      first.enter()
    }
  }

  return {
    take(bytes) {
      if (waiting.length === 0 && bytes <= free) {
        free -= bytes
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const entry = { bytes, enter }
        const cancel = clock.schedule(patienceMs, () => {
          waiting.splice(waiting.indexOf(entry), 1)
          reject(busy(new Error(`No memory for an upload within ${patienceMs} ms: ${maxBytes} bytes are in use.`)))
          admit()
        })
        function enter() {
          cancel()
          resolve()
        }
        waiting.push(entry)
      })
    },
    give(bytes) {
      free += bytes
      admit()
    },
  }
}
