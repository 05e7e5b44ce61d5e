/** The machines that the model assumes. Nothing of this was measured here. docs/scale.md says so. */
import type { CellShape } from './cell.ts'

/** Of one shard: a common server with a local NVMe disk, and a synchronous standby in another zone of the region. */
export const SHARD = {
  postgresCores: 8,
  flushUs: 500,
  walBytesPerSecond: 500_000_000,
  /** To a machine in another zone and back. */
  zoneRoundTripUs: 1_000,
  /** From a node to the database, one way. */
  networkUs: 250,
} as const

/** The share of a cell's highest rate to plan with. The rest is for bursts and lost zones. */
export const PLANNED = 0.5

/** Cells have this many nodes: more of them divide the calls into smaller batches. */
export const NODES = 3

export const CALLS_PER_SECOND = 1_000_000
export const RETENTION_S = 86_400

/** Detection and promotion of the standby, as a cluster manager with usual settings does it. */
export const FAILOVER_S = 30
/** `Retry-After` of a refused call. Callers come back within twice that time. */
export const RETRY_AFTER_S = 1
export const LEASE_S = 30
export const ZONES = 3

/** Each node has a core of its own. */
export function shardShape(nodes: number, httpUs: number): CellShape {
  const { postgresCores, flushUs, walBytesPerSecond, zoneRoundTripUs, networkUs } = SHARD
  const standbyUs = zoneRoundTripUs + flushUs
  return {
    nodes,
    postgresCores,
    nodeCores: nodes,
    device: { flushUs, bytesPerSecond: walBytesPerSecond, standbyUs },
    networkUs,
    httpUs,
  }
}
