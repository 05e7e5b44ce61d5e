/** Metrics of the process: memory, CPU, event loop. They have the names that Prometheus' own clients use. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'

/** Samples the event loop delay until it is disposed. */
export function registerProcessReadings(metrics: Pick<Metrics, 'register'>): Disposable {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  metrics.register({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    type: 'gauge',
    read: () => process.memoryUsage.rss(),
  })
  metrics.register({
    name: 'nodejs_heap_size_used_bytes',
    help: 'Heap in use in bytes.',
    type: 'gauge',
    read: () => process.memoryUsage().heapUsed,
  })
  metrics.register({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time spent in seconds.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  })
  metrics.register({
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: 'The 99th percentile of the event loop delay since the last reading.',
    type: 'gauge',
    read: () => {
      const seconds = delay.percentile(99) / 1e9
      delay.reset()
      return seconds
    },
  })
  return { [Symbol.dispose]: () => void delay.disable() }
}
