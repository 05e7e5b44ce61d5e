/** Logs, metrics and traces: what the server needs of them. */

export { quoteText } from './credentials.ts'
export { createExecutionLog } from './executions.ts'
export { lineWriter } from './lines.ts'
export { loadTracing } from './load-tracing.ts'
export { createLog, type LogOptions } from './log.ts'
export { countersIn, mergeMetrics } from './merge-metrics.ts'
export { createMetrics, METRICS_CONTENT_TYPE } from './metrics.ts'
export { combineObservers } from './observer.ts'
export { registerProcessReadings } from './process-readings.ts'
