/** Logs, metrics and traces, as the server uses them. */

export { createExecutionLog } from './executions.ts'
export { quoteText } from './logs/credentials.ts'
export { lineWriter } from './logs/lines.ts'
export { createLog, type LogOptions } from './logs/log.ts'
export { countersIn, mergeMetrics } from './metrics/merge-metrics.ts'
export { createMetrics, DEFAULT_BUCKETS, METRICS_CONTENT_TYPE } from './metrics/metrics.ts'
export { registerProcessReadings } from './metrics/process-readings.ts'
export { type Counted, quantileMs } from './metrics/quantiles.ts'
export { combineObservers } from './observer.ts'
export { loadTracing } from './traces/load-tracing.ts'
