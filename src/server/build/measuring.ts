/** What this process measures for `v1:callplane.metrics.series`. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Limits } from '../../engine/limits/limits.ts'
import type { Ended, Measured } from '../../engine/metrics/samples.ts'
import type { AboutServer } from './about-server.ts'
import type { Observing } from './observing.ts'

interface MeasuringParts {
  about: AboutServer
  limits: Pick<Limits, 'queued' | 'running'>
  observing: Observing
  /** The number of this process. */
  node(): number
}

/** Measures the event loop until it is disposed. */
export function createMeasuring({ about, limits, observing, node }: MeasuringParts): Measured & Disposable {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  return {
    gauges() {
      const loopDelayMs = Math.round(delay.percentile(99) / 1e4) / 100
      delay.reset()
      about.loopDelayMs = loopDelayMs
      const { queued, running } = limits
      return { queued, running, loopDelayMs, memoryBytes: process.memoryUsage.rss() }
    },
    totals() {
      const totals = new Map<string, Ended>()
      for (const [name, { calls, errors, buckets }] of observing.metrics.allCounted()) {
        totals.set(name, { calls, errors, buckets })
      }
      return totals
    },
    node,
    [Symbol.dispose]: () => void delay.disable(),
  }
}
