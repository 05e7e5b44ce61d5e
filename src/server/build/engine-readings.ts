/** The engine's gauges at `/metrics`. */
import type { Limits } from '../../engine/limits/limits.ts'
import type { createMetrics } from '../../telemetry/index.ts'

export function registerEngineReadings(metrics: ReturnType<typeof createMetrics>, limits: Limits): void {
  metrics.register({
    type: 'gauge',
    name: 'callplane_running_attempts',
    help: 'Attempts running now.',
    read: () => limits.running,
  })
  metrics.register({
    type: 'gauge',
    name: 'callplane_queued_calls',
    help: 'Calls accepted and not started.',
    read: () => limits.queued,
  })
  metrics.register({
    type: 'gauge',
    name: 'callplane_open_calls',
    help: 'Calls accepted and not ended.',
    read: () => limits.open,
  })
}
