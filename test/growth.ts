/** How the cost of some work grows with its input, in time of the processor, which a busy machine does not stretch. */

/** The cost of 16 times the length over that of one: about 16 where it grows in proportion, 256 where in the square. */
export function growth(work: (length: number) => void, length: number): number {
  // The first run pays for compilation; what takes below a millisecond is lost in noise.
  work(length)
  return cost(work, 16 * length) / Math.max(cost(work, length), 1)
}

/** In proportion, with room for what the garbage collector takes. */
export const PROPORTIONAL = 80

/** A text of this length that repeats a piece. */
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
