/** What this process tells the other nodes and `v1:callplane.nodes.list` about itself. */
import { hostname } from 'node:os'
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import type { NodeFacts } from '../../core/ports/nodes.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Limits } from '../../engine/limits/limits.ts'
import { packageVersion } from './package-version.ts'

/** As many operations as a person reads. */
const MOST_OPERATIONS = 10
/** A shorter time says little about the load. */
const SAMPLE_MS = 1_000

interface Connected {
  engine: Pick<Engine, 'draining' | 'worker'>
  limits: Pick<Limits, 'running' | 'waiting'>
}

/** It exists before the engine, because the store is opened first. */
export class AboutServer {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #fixed: Pick<NodeFacts, 'host' | 'pid' | 'version' | 'startedAt'>
  #connected: Connected | undefined
  #loop: EventLoopUtilization = performance.eventLoopUtilization()
  #sampledMs: number
  #busy = 0
  /** Set when the server listens. */
  address: string | undefined
  /** True if callers can belong to several tenants. */
  hasTenants = false
  /** Set at intervals, by what measures it. */
  loopDelayMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sampledMs = clock.monotonicMs()
    this.#fixed = { host: hostname(), pid: process.pid, version: packageVersion(), startedAt: clock.now() }
  }

  connect(parts: Connected): void {
    this.#connected = parts
  }

  get program(): Pick<NodeFacts, 'version' | 'startedAt'> {
    const { version, startedAt } = this.#fixed
    return { version, startedAt }
  }

  facts(): NodeFacts {
    const { engine, limits } = this.#connected ?? {}
    return {
      ...this.#fixed,
      ...(this.address !== undefined && { address: this.address }),
      running: limits?.running ?? 0,
      waiting: limits?.waiting ?? 0,
      busy: this.#sampleLoop(),
      memoryBytes: process.memoryUsage.rss(),
      ...(this.loopDelayMs !== undefined && { loopDelayMs: this.loopDelayMs }),
      operations: topOf(engine?.worker.runningCounts()),
      draining: engine?.draining ?? false,
    }
  }

  /** Of the time since the last sample. Rounded, because it is for people. */
  #sampleLoop(): number {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sampledMs < SAMPLE_MS) return this.#busy
    const loop = performance.eventLoopUtilization()
    this.#busy = Math.round(performance.eventLoopUtilization(loop, this.#loop).utilization * 1000) / 1000
    this.#loop = loop
    this.#sampledMs = nowMs
    return this.#busy
  }
}

function topOf(counts: ReadonlyMap<string, number> = new Map()): NodeFacts['operations'] {
  return [...counts]
    .map(([operation, calls]) => ({ operation, calls }))
    .sort((a, b) => b.calls - a.calls)
    .slice(0, MOST_OPERATIONS)
}
