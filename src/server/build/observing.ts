/** Observers of the engine: metrics, traces and the execution log. */
import type { Observer } from '../../core/ports/observer.ts'
import { contractCode, contractWords } from '../../protocols/contract/index.ts'
import { combineObservers, createExecutionLog, createMetrics, loadTracing } from '../../telemetry/index.ts'
import type { ServerOptions } from '../options/options.ts'
import type { WorkerLink } from '../workers/link.ts'
import type { Base } from './base.ts'

export interface Observing {
  metrics: ReturnType<typeof createMetrics>
  /** The metrics of all processes of this server. */
  renderMetrics: () => string | Promise<string>
  observer: Observer | undefined
}

export async function createObserving(
  options: Pick<ServerOptions, 'log' | 'executionLog'>,
  { log, redactor }: Base,
  link: WorkerLink | undefined,
): Promise<Observing> {
  const metrics = createMetrics({ codeOf: contractCode })
  const tracing = await loadTracing({ redact: redactor.redact, words: contractWords })
  const executions = showsInfo(options.log)
    ? createExecutionLog({ log, words: contractWords, unrecorded: options.executionLog ?? true })
    : undefined
  return {
    metrics,
    renderMetrics: link ? link.metrics(() => metrics.render()) : () => metrics.render(),
    observer: combineObservers(metrics, tracing, executions),
  }
}

/** The level of an application's own log is unknown, so it gets all lines. */
function showsInfo(log: ServerOptions['log']): boolean {
  return typeof log === 'object' || log === 'info' || log === 'debug'
}
