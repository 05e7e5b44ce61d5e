/** Logs, metrics and traces: what the server needs of them. */

export { loadTracing } from './load-tracing.ts'
export { createLog, type LogLevel, type LogOptions } from './log.ts'
export { createMetrics, METRICS_CONTENT_TYPE, type Metrics, type MetricsOptions, type Reading } from './metrics.ts'
export { combineObservers } from './observer.ts'
export { registerProcessReadings } from './process-readings.ts'
