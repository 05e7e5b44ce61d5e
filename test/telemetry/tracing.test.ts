import { context, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { afterEach, describe, expect, test } from 'vitest'
import type { Outcome } from '../../src/core/call/instance.ts'
import { Fault, type FaultKind } from '../../src/core/fault.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { AttemptObservation, Execution, ObservedAttempt, Observer } from '../../src/core/ports/observer.ts'
import { contractWords } from '../../src/protocols/contract/words.ts'
import { combineObservers } from '../../src/telemetry/index.ts'
import { createTracing } from '../../src/telemetry/traces/tracing.ts'
import { verifies } from '../requirements.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`
const DONE: Outcome = { kind: 'result', value: 3 }

const sync = { name: { full: 'v1:Calculator.Add' }, version: '1.2.0', model: 'sync' } as unknown as Operation
const async = { ...sync, model: 'async' } as Operation
const attempt = (traceparent?: string, number = 1): ObservedAttempt => ({
  number,
  job: { id: 'i1', requestId: 'r1', sessionId: 's1', ...(traceparent !== undefined && { traceparent }) },
  run: { failures: number - 1 },
})
const failed = (kind: FaultKind, message = 'No.'): Outcome => ({
  kind: 'fault',
  fault: new Fault(kind, message).toRecord(),
})

function registerTraceSdk(sampler?: Sampler) {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors, ...(sampler && { sampler }) }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return { spans: () => exporter.getFinishedSpans(), own: trace.getTracer('application') }
}

interface Watching extends Required<Observer> {
  attemptStarted: (...started: Parameters<NonNullable<Observer['attemptStarted']>>) => AttemptObservation
}

function observer(options?: Parameters<typeof createTracing>[0]): Watching {
  return combineObservers(createTracing(options)) as Watching
}

afterEach(() => {
  trace.disable()
  context.disable()
  metrics.disable()
})

test('without an SDK there is no observer, so the engine does nothing for it', () => {
  expect(createTracing()).toBeUndefined()
  expect(combineObservers(createTracing(), undefined)).toBeUndefined()
})

describe('an attempt', () => {
  test('is a span that says what ran, for whom, and how it ended', () => {
    const { spans } = registerTraceSdk()

    observer().attemptStarted(async, attempt(undefined, 2)).ended(DONE)

    expect(spans()).toMatchObject([
      {
        name: 'v1:Calculator.Add',
        kind: SpanKind.CONSUMER,
        attributes: {
          'callplane.operation': 'v1:Calculator.Add',
          'callplane.version': '1.2.0',
          'callplane.request_id': 'r1',
          'callplane.session_id': 's1',
          'callplane.attempt': 2,
          'callplane.outcome': 'result',
        },
        status: { code: SpanStatusCode.UNSET },
      },
    ])
  })

  // opencall:041: the trace's part of it.
  test('continues the trace of its caller, and the spans of the handler are its children', async () => {
    const { spans, own } = registerTraceSdk()

    const observation = observer().attemptStarted(async, attempt(TRACEPARENT))
    const outcome = await observation.within(async () => {
      await Promise.resolve()
      own.startSpan('query').end()
      return DONE
    })
    observation.ended(outcome)

    const [query, span] = spans()
    expect(span?.parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true })
    expect(query?.parentSpanContext?.spanId).toBe(span?.spanContext().spanId)
    expect(query?.spanContext().traceId).toBe(TRACE_ID)
    expect(observation).toHaveProperty('traceparent', `00-${TRACE_ID}-${span?.spanContext().spanId}-01`)
  })

  test.each([
    ['none', undefined],
    ['text', 'hello'],
    ['all zero', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
    ['version ff', TRACEPARENT.replace('00-', 'ff-')],
    ['version 00 with more fields', `${TRACEPARENT}-x`],
  ])('begins a new trace if the traceparent is invalid: %s', (_case, traceparent) => {
    const { spans } = registerTraceSdk()
    observer().attemptStarted(sync, attempt(traceparent)).ended(DONE)
    expect(spans()[0]?.parentSpanContext).toBeUndefined()
  })

  test('is a child of the request that is being served, and links it where the caller named another trace', () => {
    const { spans, own } = registerTraceSdk()
    const request = own.startSpan('POST /call')
    context.with(trace.setSpan(context.active(), request), () => {
      observer().attemptStarted(sync, attempt()).ended(DONE)
      observer().attemptStarted(sync, attempt(TRACEPARENT)).ended(DONE)
    })
    const { spanId, traceId } = request.spanContext()
    expect(spans()).toMatchObject([
      { kind: SpanKind.SERVER, parentSpanContext: { spanId, traceId }, links: [] },
      { parentSpanContext: { spanId: SPAN_ID, traceId: TRACE_ID }, links: [{ context: { spanId, traceId } }] },
    ])
  })

  test('started by a worker has nothing to do with the call that woke the worker', () => {
    const { spans, own } = registerTraceSdk()
    const other = own.startSpan('POST /call')
    context.with(trace.setSpan(context.active(), other), () => {
      observer().attemptStarted(async, attempt()).ended(DONE)
      other.end()
      observer().attemptStarted(sync, attempt()).ended(DONE)
    })
    const attempts = spans().filter((span) => span.name === 'v1:Calculator.Add')
    expect(attempts.map((span) => [span.parentSpanContext, span.links])).toEqual([
      [undefined, []],
      [undefined, []],
    ])
  })

  test('of a request that is not sampled is not sampled either', () => {
    // Drops only requests, so that an attempt that wrongly became a root would be seen.
    const root = {
      shouldSample: (_context: unknown, _traceId: string, name: string) => ({
        decision: name === 'POST /call' ? SamplingDecision.NOT_RECORD : SamplingDecision.RECORD_AND_SAMPLED,
      }),
    }
    const { spans, own } = registerTraceSdk(new ParentBasedSampler({ root }))
    context.with(trace.setSpan(context.active(), own.startSpan('POST /call')), () => {
      observer().attemptStarted(sync, attempt()).ended(DONE)
    })
    observer().attemptStarted(sync, attempt(TRACEPARENT)).ended(DONE)
    expect(spans().map((span) => span.spanContext().traceId)).toEqual([TRACE_ID])
  })

  test('is an error where this side failed, and not where the caller got a proper no; secrets stay out', () => {
    const { spans } = registerTraceSdk()
    const redact = (text: string) => text.replaceAll('hunter2', '[redacted]')
    const { attemptStarted } = observer({ redact })

    attemptStarted(sync, attempt()).ended(failed('domain'))
    attemptStarted(sync, attempt()).ended(failed('upstream', 'The shop refused hunter2.'))

    expect(spans()).toMatchObject([
      { status: { code: SpanStatusCode.UNSET }, attributes: { 'callplane.fault.kind': 'domain' } },
      {
        status: { code: SpanStatusCode.ERROR, message: 'The shop refused [redacted].' },
        attributes: {
          'callplane.fault.kind': 'upstream',
          'callplane.fault.code': 'UPSTREAM',
          'error.type': 'upstream',
        },
      },
    ])
  })
})

test('ended calls are a histogram of durations by operation and outcome', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  metrics.setGlobalMeterProvider(provider)

  const { callEnded } = observer()
  callEnded(sync, 'complete', 250)
  callEnded(sync, 'complete', 750)
  await provider.shutdown()

  const [metric] = exporter.getMetrics()[0]?.scopeMetrics[0]?.metrics ?? []
  expect(metric).toMatchObject({
    descriptor: { name: 'callplane.call.duration', unit: 's' },
    dataPoints: [
      {
        attributes: { 'callplane.operation': 'v1:Calculator.Add', 'callplane.outcome': 'complete' },
        value: { count: 2, sum: 1 },
      },
    ],
  })
})

test('an attempt has the Tool Contract’s fields if the observer knows its names', () => {
  verifies('contract:002', 'contract:111', 'contract:112', 'contract:154', 'contract:155', 'contract:156')
  verifies('contract:157', 'contract:158', 'contract:159')
  const { spans } = registerTraceSdk()
  const remote = { ...sync, auth: { profile: 'bearer', secretRef: 'shop-key' } } as Operation
  const { attemptStarted } = observer({ words: contractWords })

  attemptStarted(remote, { ...attempt(undefined, 7), run: { failures: 1 } }).ended(failed('timeout'))
  attemptStarted(sync, attempt()).ended(DONE)
  attemptStarted(sync, attempt()).ended(undefined)

  const common = { tool_contract_version: 'v1', tool_request_id: 'r1', execution_id: 'i1' }
  const [late, fine, waiting] = spans().map(({ attributes }) => attributes)
  expect(late).toMatchObject({
    ...common,
    tool_attempt: 2,
    tool_status: 'error',
    tool_code: 'timeout',
    tool_reason: 'tool_execution_timeout',
    error_code: 'timeout',
    error_reason: 'tool_execution_timeout',
    retryable: true,
    tool_auth_profile: 'bearer',
    tool_auth_secret_ref: 'shop-key',
  })
  expect(fine).toMatchObject({ ...common, tool_attempt: 1, tool_status: 'ok' })
  expect(waiting).toMatchObject(common)
  for (const absent of ['error_code', 'retryable', 'tool_auth_profile']) expect(fine).not.toHaveProperty(absent)
  expect(waiting).not.toHaveProperty('tool_status')
})

test('an execution is reported to observers of executions; without observers nothing is reported', () => {
  const heard: string[] = []
  const listener = (name: string) => ({ executed: () => void heard.push(name) })
  const ofUnrecorded = { executedUnrecorded: () => void heard.push('unrecorded') }

  const all = combineObservers({ callEnded: () => {} }, listener('first'), ofUnrecorded, listener('second'))
  all?.executed?.(sync, {} as Execution)
  all?.executedUnrecorded?.(sync, {} as Execution)

  expect(heard).toEqual(['first', 'second', 'unrecorded'])
  const none = combineObservers({ callEnded: () => {} })
  for (const told of ['executed', 'executedUnrecorded']) expect(none).not.toHaveProperty(told)
})

test('several observers are all told, each around the next', () => {
  const heard: string[] = []
  const named = (name: string): Observer => ({
    attemptStarted: () => ({
      within: (run) => {
        heard.push(`${name} within`)
        return run()
      },
      ended: (outcome) => heard.push(`${name} ${outcome?.kind}`),
    }),
    callEnded: (_operation, outcome) => heard.push(`${name} ${outcome}`),
  })
  const both = combineObservers(named('a'), undefined, { callEnded: () => heard.push('counted') }, named('b'))

  const observation = both?.attemptStarted?.(sync, attempt())
  expect(observation?.within(() => 7)).toBe(7)
  observation?.ended(DONE)
  both?.callEnded?.(sync, 'complete', 1)

  expect(heard).toEqual(['a within', 'b within', 'a result', 'b result', 'a complete', 'counted', 'b complete'])
})
