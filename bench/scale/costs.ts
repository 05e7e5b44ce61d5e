/** What a call costs, as a function of the size of the batches that it travels in. Fitted to measurements. */

/** A cost per call and a cost per batch. A call is in two batches: one accepts it and one ends it. */
export interface Cost {
  call: number
  batch: number
}

export interface Costs {
  /** CPU time of the node, in µs. */
  node: Cost
  /** CPU time of all processes of Postgres, in µs. */
  postgres: Cost
  /** CPU time that the machine spends on both beyond their processes, in µs: network, disk and log, in the kernel. */
  kernel: Cost
  /** Bytes in Postgres's log. */
  wal: Cost
  /** The time of one flush of the log's disk, in µs. */
  flushUs: number
}

export interface MeasuredCosts {
  /** Calls per statement, on average. */
  batch: number
  nodeUs: number
  postgresUs: number
  kernelUs: number
  walBytes: number
}

const BATCHES_OF_A_CALL = 2

/** The part of a cost that belongs to one batch with this many calls. */
export function costOfBatch({ call, batch }: Cost, calls: number): number {
  return (call * calls) / BATCHES_OF_A_CALL + batch
}

export function fitCosts(measured: readonly MeasuredCosts[], flushUs: number): Costs {
  const fit = (of: (each: MeasuredCosts) => number) => fitCost(measured.map((each) => [each.batch, of(each)]))
  return {
    node: fit(({ nodeUs }) => nodeUs),
    postgres: fit(({ postgresUs }) => postgresUs),
    kernel: fit(({ kernelUs }) => kernelUs),
    wal: fit(({ walBytes }) => walBytes),
    flushUs,
  }
}

/**
 * Least squares of `call + 2 * batch / size`. Each point is weighted with its inverse square, so that the relative error
 * counts: otherwise the dear calls in small batches would decide alone.
 */
export function fitCost(points: readonly (readonly [size: number, cost: number])[]): Cost {
  let [weights, x, y, xx, xy] = [0, 0, 0, 0, 0]
  for (const [size, cost] of points) {
    const weight = 1 / Math.max(cost, 0.1) ** 2
    const share = BATCHES_OF_A_CALL / size
    weights += weight
    x += weight * share
    y += weight * cost
    xx += weight * share * share
    xy += weight * share * cost
  }
  const slope = (weights * xy - x * y) / (weights * xx - x * x)
  const batch = Math.max(0, slope)
  return { call: Math.max(0, (y - batch * x) / weights), batch }
}
