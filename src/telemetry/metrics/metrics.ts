/**
 * Counts calls and their durations, reads gauges on request, and writes Prometheus' text format. A call costs two map
 * lookups and a few additions, because the label texts are built once per operation and outcome.
 */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Observer } from '../../core/ports/observer.ts'
import { escapeHelp, escapeLabel, formatNumber } from './prometheus.ts'
import type { Counted } from './quantiles.ts'

export interface Metrics extends Pick<Required<Observer>, 'callEnded'> {
  /** Read at each rendering, for example queue length, open calls and memory. */
  register(reading: Reading): void
  render(): string
  /** The calls of one operation. `undefined` if none has ended. */
  counted(operation: Pick<Operation, 'key'>): Counted | undefined
  /** The calls of all operations by their names, without those of the server itself. */
  allCounted(): ReadonlyMap<string, Counted>
}

export interface Reading {
  /** For example `callplane_queue_length`. The name of a counter ends in `_total`. */
  name: string
  help: string
  type: 'gauge' | 'counter'
  read(): number
}

export interface MetricsOptions {
  /** Upper bounds of the duration histogram, ascending. */
  bucketsSeconds?: readonly number[]
  /** Operations beyond this number are counted together, as `_other`. */
  maxOperations?: number
  /** Returns one more label. It depends only on the outcome, so it adds no series. */
  codeOf?: (outcome: string) => string
}

interface OperationCells {
  labels: string
  /** One per bucket, not cumulative. The last one counts durations above all bounds. */
  buckets: Float64Array
  sum: Float64Array
  outcomes: Map<string, Counter>
}

interface Counter {
  labels: string
  count: number
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export const DEFAULT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600]
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
/** There are fewer fault kinds; the limit also holds if a caller passes codes. */
const MAX_OUTCOMES = 32
const OTHER = '_other'
const COMPLETE = 'complete'

export function createMetrics({
  bucketsSeconds = DEFAULT_BUCKETS,
  maxOperations = 1000,
  codeOf,
}: MetricsOptions = {}): Metrics {
  const boundsMs = bucketsSeconds.map((seconds) => seconds * 1000)
  const byKey = new Map<string, OperationCells>()
  const isInternal = new Set<string>()
  const readings = new Map<string, Reading>()

  const openCells = (key: string, labels: string): OperationCells => {
    const buckets = new Float64Array(boundsMs.length + 1)
    const cells = { labels, buckets, sum: new Float64Array(1), outcomes: new Map() }
    byKey.set(key, cells)
    return cells
  }
  const cellsOf = (operation: Operation): OperationCells => {
    const labels = `operation="${escapeLabel(operation.name.full)}",version="${escapeLabel(operation.version)}"`
    if (byKey.size < maxOperations) {
      if (operation.internal) isInternal.add(operation.key)
      return openCells(operation.key, labels)
    }
    return byKey.get(OTHER) ?? openCells(OTHER, `operation="${OTHER}",version=""`)
  }

  return {
    callEnded(operation, outcome, durationMs) {
      const cells = byKey.get(operation.key) ?? cellsOf(operation)
      const counter = cells.outcomes.get(outcome) ?? openCounter(cells, outcome, codeOf)
      counter.count++
      // A clock that was set back must not decrease the sum.
      const elapsedMs = Math.max(durationMs, 0)
      let index = 0
      while (index < boundsMs.length && elapsedMs > (boundsMs[index] as number)) index++
      ;(cells.buckets[index] as number)++
      ;(cells.sum[0] as number) += elapsedMs
    },
    register(reading) {
      if (!METRIC_NAME.test(reading.name) || readings.has(reading.name)) {
        throw new Fault(
          'malformed',
          `"${reading.name}" cannot be registered: use an unused name of letters, digits and _.`,
        )
      }
      readings.set(reading.name, reading)
    },
    counted({ key }) {
      const cells = byKey.get(key)
      return cells && countedIn(cells, boundsMs)
    },
    allCounted() {
      const all = new Map<string, Counted>()
      for (const [key, cells] of byKey) {
        const name = key.split('@', 1)[0] as string
        if (isInternal.has(key)) continue
        const counted = countedIn(cells, boundsMs)
        const other = all.get(name)
        all.set(name, other ? addCounted(other, counted) : counted)
      }
      return all
    },
    render() {
      const cells = [...byKey.values()]
      return [
        ...renderCalls(cells),
        ...renderDurations(cells, bucketsSeconds),
        ...[...readings.values()].flatMap(renderReading),
        '',
      ].join('\n')
    },
  }
}

function countedIn({ outcomes, buckets }: OperationCells, boundsMs: readonly number[]): Counted {
  let calls = 0
  for (const { count } of outcomes.values()) calls += count
  const errors = calls - (outcomes.get(COMPLETE)?.count ?? 0)
  return { calls, errors, buckets: [...buckets], boundsMs }
}

/** Two versions of one operation. */
function addCounted(one: Counted, other: Counted): Counted {
  return {
    calls: one.calls + other.calls,
    errors: one.errors + other.errors,
    buckets: one.buckets.map((count, at) => count + (other.buckets[at] ?? 0)),
    boundsMs: one.boundsMs,
  }
}

function openCounter(cells: OperationCells, outcome: string, codeOf: MetricsOptions['codeOf']): Counter {
  const name = cells.outcomes.size < MAX_OUTCOMES ? outcome : OTHER
  const existing = cells.outcomes.get(name)
  if (existing) return existing
  const code = codeOf && name !== OTHER ? `,code="${escapeLabel(codeOf(outcome))}"` : ''
  const counter = { labels: `${cells.labels},outcome="${escapeLabel(name)}"${code}`, count: 0 }
  cells.outcomes.set(name, counter)
  return counter
}

function renderCalls(all: readonly OperationCells[]): string[] {
  const name = 'callplane_calls_total'
  return [
    ...describeMetric(name, 'Calls that have ended, by operation and outcome.', 'counter'),
    ...all.flatMap((cells) => [...cells.outcomes.values()].map(({ labels, count }) => `${name}{${labels}} ${count}`)),
  ]
}

function renderDurations(all: readonly OperationCells[], bounds: readonly number[]): string[] {
  const name = 'callplane_call_duration_seconds'
  const lines = describeMetric(name, 'Time from the arrival of a call to its end.', 'histogram')
  for (const { labels, buckets, sum } of all) {
    let count = 0
    for (const [index, inBucket] of buckets.entries()) {
      count += inBucket
      const bound = bounds[index]
      lines.push(`${name}_bucket{${labels},le="${bound === undefined ? '+Inf' : formatNumber(bound)}"} ${count}`)
    }
    lines.push(`${name}_sum{${labels}} ${formatNumber((sum[0] as number) / 1000)}`, `${name}_count{${labels}} ${count}`)
  }
  return lines
}

function renderReading({ name, help, type, read }: Reading): string[] {
  return [...describeMetric(name, help, type), `${name} ${formatNumber(read())}`]
}

function describeMetric(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`]
}
