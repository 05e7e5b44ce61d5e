/** One piece that is written by hand, beside the library that could take its place. */

export interface Work extends AsyncDisposable {
  /** Does the same operation so many times, checks what comes out, and throws where it is wrong. */
  run(times: number): void | Promise<void>
}

export interface Pair {
  name: string
  /** What one operation is. */
  operation: string
  library: string
  /** Operations in one window: a few milliseconds of work. */
  times: number
  ours(): Work | Promise<Work>
  theirs(): Work | Promise<Work>
}

export const nothingToClose = { [Symbol.asyncDispose]: async () => {} }
