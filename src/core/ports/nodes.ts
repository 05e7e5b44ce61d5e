/** What the nodes on a store tell operators about themselves. Nothing else depends on it. */

/** One server process. It must be JSON, because stores pass it on. */
export interface NodeFacts {
  host: string
  pid: number
  /** The version of the program. */
  version: string
  /** By the machine's own clock, in Unix epoch milliseconds. */
  startedAt: number
  /** Where it listens. Absent if an application mounts it. */
  address?: string
  /** Calls that run here, recorded or not. */
  running: number
  /** Calls that wait here for a slot. Recorded calls wait in the store instead. */
  waiting: number
  /** The share of time in which the event loop was busy, from 0 to 1. */
  busy: number
  /** The resident memory of the process. Absent from older versions. */
  memoryBytes?: number
  /** The 99th percentile of the event loop delay in the last seconds. Absent at first, and from older versions. */
  loopDelayMs?: number
  /** The recorded calls that run here, by registry key, at most ten, the most frequent first. */
  operations: readonly { operation: string; calls: number }[]
  /** It is shutting down, and accepts no more calls. */
  draining: boolean
}

export interface NodeInfo {
  /** The number of the node on its store, or of the worker in its server. */
  node: number
  /** The version of the schema that it knows. Absent if the store has none. */
  schema?: number
  /** Absent if the node has told nothing, as older versions do. */
  facts?: NodeFacts
}
