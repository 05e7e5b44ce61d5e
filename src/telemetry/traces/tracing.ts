/**
 * OpenTelemetry: a span for each attempt and a histogram of call durations. It uses only the API. The application
 * registers an SDK before it creates the server. Without an SDK there is no observer, and the engine does no work for
 * it.
 */
import {
  type Attributes,
  type Context,
  context,
  createNoopMeter,
  type Histogram,
  type Link,
  type Meter,
  metrics,
  ProxyTracer,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Outcome } from '../../core/call/instance.ts'
import type { FaultKind, FaultRecord } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { AttemptObservation, ObservedAttempt, Observer } from '../../core/ports/observer.ts'
import { authFields, outcomeFields, type ToolWords } from '../logs/tool-fields.ts'
import { encodeSpanContext, parseSpanContext } from './span-context.ts'

export interface TracingOptions {
  /** Applied to texts of callers and faults before they are put into a span. */
  redact?: (text: string) => string
  /** Adds the Tool Contract's fields. */
  words?: ToolWords
}

export interface TracedAttempt extends AttemptObservation {
  /** The traceparent for the handler and the calls it makes, instead of the caller's. */
  readonly traceparent: string
}

const SCOPE = 'callplane'

export function createTracing({ redact = (text) => text, words }: TracingOptions = {}): Observer | undefined {
  const tracer = registeredTracer()
  const meter = registeredMeter()
  if (!tracer && !meter) return undefined
  return {
    ...(tracer && {
      attemptStarted: (operation: Operation, attempt: ObservedAttempt) =>
        startAttempt(tracer, operation, attempt, redact, words),
    }),
    ...(meter && { callEnded: recordCalls(meter) }),
  }
}

/** `undefined` without an SDK: the API then returns a proxy that waits for one. */
function registeredTracer(): Tracer | undefined {
  const tracer = trace.getTracer(SCOPE)
  return tracer instanceof ProxyTracer ? undefined : tracer
}

function registeredMeter(): Meter | undefined {
  const meter = metrics.getMeter(SCOPE)
  return meter === createNoopMeter() ? undefined : meter
}

function startAttempt(
  tracer: Tracer,
  operation: Operation,
  attempt: ObservedAttempt,
  redact: (text: string) => string,
  words: ToolWords | undefined,
): TracedAttempt {
  const { id, requestId, sessionId } = attempt.job
  const { parent, links } = placeInTrace(operation, attempt)
  const span = tracer.startSpan(
    operation.name.full,
    {
      kind: operation.model === 'sync' ? SpanKind.SERVER : SpanKind.CONSUMER,
      links,
      attributes: {
        'callplane.operation': operation.name.full,
        'callplane.version': operation.version,
        'callplane.request_id': redact(requestId),
        ...(sessionId !== undefined && { 'callplane.session_id': redact(sessionId) }),
        'callplane.attempt': attempt.number,
        ...(words && {
          tool_contract_version: words.version,
          tool_request_id: redact(requestId),
          // A remote tool receives this id as the id of its request.
          execution_id: id,
          // The number of the try. An attempt after a crash, or to fetch a remote result, is not a new try.
          tool_attempt: attempt.run.failures + 1,
          ...authFields(operation),
        }),
      },
    },
    parent,
  )
  const inSpan = trace.setSpan(parent, span)
  return {
    traceparent: encodeSpanContext(span.spanContext()),
    within: (run) => context.with(inSpan, run),
    ended(outcome) {
      if (outcome && words) span.setAttributes(toolAttributes(words, outcome))
      endSpan(span, outcome, redact)
    },
  }
}

/**
 * The caller's traceparent is the parent, unless a span of the same trace is open here (an instrumented HTTP server, a
 * parent call): that span is nearer. An open span of another trace is linked.
 */
function placeInTrace(operation: Operation, attempt: ObservedAttempt): { parent: Context; links: Link[] } {
  const sent = parseSpanContext(attempt.job.traceparent)
  const around = operation.model === 'sync' && attempt.number === 1 ? context.active() : ROOT_CONTEXT
  const open = openSpan(around)
  if (open && (!sent || sent.traceId === open.traceId)) return { parent: around, links: [] }
  const parent = trace.deleteSpan(around)
  return { parent: sent ? trace.setSpanContext(parent, sent) : parent, links: open ? [{ context: open }] : [] }
}

/**
 * A worker starts attempts in the context of the event that woke it, which belongs to another call. So only the first
 * attempt of a sync operation looks for an open span. A span that has ended is not used as parent: it does not record
 * although it was sampled. A span that was not sampled stays the parent, so that this attempt is not sampled either.
 */
function openSpan(around: Context): SpanContext | undefined {
  const span = trace.getSpan(around)
  const open = span?.spanContext()
  const hasEnded = open && !open.isRemote && (open.traceFlags & TraceFlags.SAMPLED) !== 0 && !span?.isRecording()
  return hasEnded ? undefined : open
}

/** As for HTTP servers, a span is an error if this side failed, and not if the call was refused correctly. */
const IS_ERROR: Record<FaultKind, boolean> = {
  malformed: false,
  'unknown-operation': false,
  removed: false,
  unauthenticated: false,
  forbidden: false,
  'requirements-missing': false,
  'invalid-input': false,
  conflict: false,
  'not-found': false,
  'rate-limited': false,
  overloaded: true,
  unavailable: true,
  domain: false,
  canceled: false,
  timeout: true,
  upstream: true,
  'policy-invalid': false,
  'isolation-unavailable': true,
  'secret-missing': true,
  'credential-invalid': true,
  'credential-forbidden': true,
  'credential-expired': true,
  'approval-pending': false,
  'approval-denied': false,
  'approval-expired': false,
  'outcome-unknown': true,
  internal: true,
}

function endSpan(span: Span, outcome: Outcome | undefined, redact: (text: string) => string): void {
  span.setAttribute('callplane.outcome', outcome?.kind ?? 'waiting')
  if (outcome?.kind === 'fault') describeFault(span, outcome.fault, redact)
  span.end()
}

/** The Contract has two names for these values: one in its metadata and one in its traces. */
function toolAttributes(words: ToolWords, outcome: Outcome): Attributes {
  const { tool_code, tool_reason, ...fields } = outcomeFields(words, outcome)
  if (tool_code === undefined || tool_reason === undefined) return fields
  return { ...fields, tool_code, tool_reason, error_code: tool_code, error_reason: tool_reason }
}

function describeFault(span: Span, fault: FaultRecord, redact: (text: string) => string): void {
  span.setAttributes({ 'callplane.fault.kind': fault.kind, 'callplane.fault.code': redact(fault.code) })
  if (!IS_ERROR[fault.kind]) return
  span.setAttribute('error.type', fault.kind)
  span.setStatus({ code: SpanStatusCode.ERROR, message: redact(fault.message) })
}

function recordCalls(meter: Meter): NonNullable<Observer['callEnded']> {
  const durations: Histogram = meter.createHistogram('callplane.call.duration', {
    description: 'Time from the arrival of a call to its end.',
    unit: 's',
  })
  return (operation, outcome, durationMs) =>
    durations.record(durationMs / 1000, {
      'callplane.operation': operation.name.full,
      'callplane.version': operation.version,
      'callplane.outcome': outcome,
    })
}
