import { expect, test } from 'vitest'
import type { Operation } from '../../src/core/operation/operation.ts'
import { contractCode } from '../../src/protocols/contract/words.ts'
import { createMetrics, registerProcessReadings } from '../../src/telemetry/index.ts'

function operationNamed(full: string, version = '1.0.0'): Operation {
  return { key: `${full}@${version}`, name: { full }, version } as unknown as Operation
}

test('calls are counted by operation and outcome, and their durations cumulated', () => {
  const metrics = createMetrics({ bucketsSeconds: [0.01, 0.1] })
  const add = operationNamed('v1:Calculator.Add')

  for (const durationMs of [0, 10, 10.5, 250]) metrics.callEnded(add, 'complete', durationMs)
  metrics.callEnded(add, 'domain', -5)

  expect(metrics.render()).toBe(
    [
      '# HELP callplane_calls_total Calls that have ended, by operation and outcome.',
      '# TYPE callplane_calls_total counter',
      'callplane_calls_total{operation="v1:Calculator.Add",version="1.0.0",outcome="complete"} 4',
      'callplane_calls_total{operation="v1:Calculator.Add",version="1.0.0",outcome="domain"} 1',
      '# HELP callplane_call_duration_seconds Time from the arrival of a call to its end.',
      '# TYPE callplane_call_duration_seconds histogram',
      'callplane_call_duration_seconds_bucket{operation="v1:Calculator.Add",version="1.0.0",le="0.01"} 3',
      'callplane_call_duration_seconds_bucket{operation="v1:Calculator.Add",version="1.0.0",le="0.1"} 4',
      'callplane_call_duration_seconds_bucket{operation="v1:Calculator.Add",version="1.0.0",le="+Inf"} 5',
      'callplane_call_duration_seconds_sum{operation="v1:Calculator.Add",version="1.0.0"} 0.2705',
      'callplane_call_duration_seconds_count{operation="v1:Calculator.Add",version="1.0.0"} 5',
      '',
    ].join('\n'),
  )
})

test('a code that follows from the outcome is one more label, and no further series', () => {
  const metrics = createMetrics({ bucketsSeconds: [], codeOf: contractCode })
  const add = operationNamed('v1:Calculator.Add')

  for (const outcome of ['complete', 'domain', 'upstream', 'upstream', 'forbidden']) metrics.callEnded(add, outcome, 1)

  const counts = metrics.render().match(/outcome="[^}]*} \d/g)
  expect(counts).toEqual([
    'outcome="complete",code="ok"} 1',
    'outcome="domain",code="execution_failed"} 1',
    'outcome="upstream",code="execution_failed"} 2',
    'outcome="forbidden",code="permission_denied"} 1',
  ])
})

test('labels are escaped, and gauges are read when asked', () => {
  const metrics = createMetrics({ bucketsSeconds: [] })
  const queue = ['a', 'b']
  metrics.register({ name: 'callplane_queue_length', help: 'Waiting\ncalls.', type: 'gauge', read: () => queue.length })
  metrics.callEnded(operationNamed('v1:a'), 'say "no"\\\n', 1)

  queue.pop()
  const text = metrics.render()

  expect(text).toContain('outcome="say \\"no\\"\\\\\\n"} 1\n')
  expect(text).toContain(
    '# HELP callplane_queue_length Waiting\\ncalls.\n# TYPE callplane_queue_length gauge\ncallplane_queue_length 1\n',
  )
  expect(() => metrics.register({ name: 'callplane_queue_length', help: '', type: 'gauge', read: () => 0 })).toThrow(
    /use an unused name/,
  )
})

test('the number of series is bounded for any operations and outcomes', () => {
  const metrics = createMetrics({ bucketsSeconds: [], maxOperations: 2 })
  for (let index = 0; index < 50; index++) {
    metrics.callEnded(operationNamed(`v1:op${index}`), 'complete', 1)
    metrics.callEnded(operationNamed('v1:op0'), `code-${index}`, 1)
  }

  const lines = metrics.render().split('\n')
  const counts = lines.filter((line) => line.startsWith('callplane_calls_total{'))

  expect(new Set(counts.map((line) => /operation="([^"]*)"/.exec(line)?.[1]))).toEqual(
    new Set(['v1:op0', 'v1:op1', '_other']),
  )
  expect(counts.length).toBeLessThan(40)
  const total = counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  expect(total).toBe(100)
})

test('the process tells its memory, CPU and event loop delay', () => {
  const metrics = createMetrics()
  using _readings = registerProcessReadings(metrics)
  const values = new Map(
    metrics
      .render()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  )
  expect(Number(values.get('process_resident_memory_bytes'))).toBeGreaterThan(1e7)
  expect(Number(values.get('process_cpu_seconds_total'))).toBeGreaterThan(0)
  expect(Number(values.get('nodejs_eventloop_lag_p99_seconds'))).toBeGreaterThanOrEqual(0)
})
