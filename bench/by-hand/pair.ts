/** Hand-written code, and the library that could replace it. */

export interface Work extends AsyncDisposable {
  /** Does the same operation `times` times and checks each result. Throws if a result is wrong. */
  run(times: number): void | Promise<void>
}

export interface Pair {
  name: string
  /** A description of one operation. */
  operation: string
  library: string
  /** Operations in one window: a few milliseconds of work. */
  times: number
  ours(): Work | Promise<Work>
  theirs(): Work | Promise<Work>
}

export const nothingToClose = { [Symbol.asyncDispose]: async () => {} }
