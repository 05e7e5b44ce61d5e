/** Waits for a peer that reads slowly, and resets the stream if it does not read at all. */
import type { QuicStream } from './library.ts'

/** RFC 9114, "Error Codes". Raw streams use the same numbers. */
export const CODE = { noError: 0x100, internalError: 0x102, excessiveLoad: 0x107, requestRejected: 0x10b } as const

/** Resolves when the peer has read the written bytes, has left, or has read nothing for `stallTimeoutMs`. */
export function drained(stream: QuicStream, stallTimeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve()
    const done = () => {
      clearTimeout(timer)
      stream.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(() => stream.close(CODE.excessiveLoad), stallTimeoutMs)
    stream.on('drain', done).on('close', done)
  })
}

/** Resolves with the promise, or after `ms`. */
export function within(ms: number, promise: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    promise.then(done, done)
  })
}
