/** Adds up the last reported metrics of each worker. The counts of an ended worker stay in the totals. */
import { countersIn, mergeMetrics } from '../../telemetry/index.ts'

/** Not added up: each process reports these for the whole server, or they are not amounts. */
const NOT_ADDED = new Set(['callplane_queued_calls', 'callplane_open_calls', 'nodejs_eventloop_lag_p99_seconds'])

export class MetricsBook {
  readonly #own: () => string
  readonly #latest = new Map<object, string>()
  #left = ''

  constructor(own: () => string) {
    this.#own = own
  }

  note(worker: object, text: string): void {
    this.#latest.set(worker, text)
  }

  leave(worker: object): void {
    const last = this.#latest.get(worker)
    this.#latest.delete(worker)
    if (last !== undefined) this.#left = mergeMetrics([this.#left, countersIn(last)], NOT_ADDED)
  }

  render(): string {
    return mergeMetrics([...this.#latest.values(), this.#left, this.#own()], NOT_ADDED)
  }
}
