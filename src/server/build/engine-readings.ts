/** The numbers of the engine and of the carriers beside HTTP, at `/metrics`. */
import type { Limits } from '../../engine/limits/limits.ts'
import type { createMetrics } from '../../telemetry/index.ts'
import type { WiredCarrier } from '../mount/wired/index.ts'

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

export function registerCarrierReadings(
  metrics: ReturnType<typeof createMetrics>,
  wired: readonly Pick<WiredCarrier, 'name' | 'state' | 'readings'>[],
): void {
  for (const { name, state, readings = [] } of wired) {
    const prefix = `callplane_${name}_`
    if (state) {
      metrics.register({
        type: 'gauge',
        name: `${prefix}connected`,
        help: '1 if the carrier is connected.',
        read: () => (state().connected ? 1 : 0),
      })
    }
    for (const reading of readings) metrics.register({ ...reading, name: prefix + reading.name })
  }
}
