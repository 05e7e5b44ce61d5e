/** Prometheus: counting one ended call, and the text of a scrape of a hundred operations. */
import { Counter, Histogram, Registry } from 'prom-client'
import type { Operation } from '../../src/core/operation/operation.ts'
import { createMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { nothingToClose, type Pair } from './pair.ts'

const NAMES = Array.from({ length: 100 }, (_, at) => `v1:orders.operation${at}`)
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600]
const DURATION_MS = 3

function createOurs() {
  const metrics = createMetrics({ bucketsSeconds: BUCKETS })
  // Only these three are read.
  const operations = NAMES.map((full) => ({ key: `${full}@1.0.0`, name: { full }, version: '1.0.0' }) as Operation)
  const count = (at: number) =>
    metrics.callEnded(operations[at % operations.length] as Operation, 'complete', DURATION_MS)
  return { count, render: () => metrics.render() }
}

function createTheirs() {
  const register = new Registry()
  const registers = [register]
  const calls = new Counter({
    name: 'callplane_calls_total',
    help: 'Calls that have ended, by operation and outcome.',
    labelNames: ['operation', 'version', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'callplane_call_duration_seconds',
    help: 'From the arrival of a call to its end.',
    labelNames: ['operation', 'version'],
    buckets: BUCKETS,
    registers,
  })
  // Resolves the labels once, which is the library's fastest way.
  const cells = NAMES.map((operation) => ({
    calls: calls.labels(operation, '1.0.0', 'complete'),
    durations: durations.labels(operation, '1.0.0'),
  }))
  const count = (at: number) => {
    const cell = cells[at % cells.length] as (typeof cells)[number]
    cell.calls.inc()
    cell.durations.observe(DURATION_MS / 1000)
  }
  return { count, render: () => register.metrics() }
}

type Subject = ReturnType<typeof createOurs> | ReturnType<typeof createTheirs>

function counting({ count }: Subject) {
  return {
    ...nothingToClose,
    run(times: number) {
      for (let at = 0; at < times; at++) count(at)
    },
  }
}

function scraping({ count, render }: Subject) {
  for (let at = 0; at < NAMES.length; at++) count(at)
  return {
    ...nothingToClose,
    async run(times: number) {
      for (let at = 0; at < times; at++) {
        const text = await render()
        if (!text.includes('callplane_call_duration_seconds_count')) throw new Error('The histogram is missing.')
      }
    },
  }
}

export const metricsCount: Pair = {
  name: 'Prometheus, counting',
  operation: 'one ended call: a counter and a histogram',
  library: 'prom-client',
  times: 50_000,
  ours: () => counting(createOurs()),
  theirs: () => counting(createTheirs()),
}

export const metricsText: Pair = {
  name: 'Prometheus, text',
  operation: 'a scrape of 100 operations',
  library: 'prom-client',
  times: 10,
  ours: () => scraping(createOurs()),
  theirs: () => scraping(createTheirs()),
}
