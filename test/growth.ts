/** Measures how the cost of work grows with its input, in CPU time, which other load on the machine does not change. */

/** Cost at 16 times the length over the cost at one: about 16 for linear growth, 256 for quadratic. */
export function growth(work: (length: number) => void, length: number): number {
  // The first run includes compilation. A cost below one millisecond is lost in noise.
  work(length)
  return cost(work, 16 * length) / Math.max(cost(work, length), 1)
}

/** Limit for linear growth, with a margin for the garbage collector. */
export const PROPORTIONAL = 80

/** Returns a text of this length that repeats a piece. */
export function textOf(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
}

function cost(work: (length: number) => void, length: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round += 1) {
    const before = process.cpuUsage()
    work(length)
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}
