/** Spans, metrics and announcements: who watches the engine, and who is told of what it did. */
import type { Outcome } from '../instance.ts'
import type { Operation } from '../operation.ts'
import type { AuditEntry, RecordChange } from './store.ts'

/** Watches the engine work: spans and metrics. What is left out costs nothing. */
export interface Observer {
  /** Nothing if this one is not watched. */
  attemptStarted?(operation: Operation, attempt: ObservedAttempt): AttemptObservation | undefined
  /** `outcome` is `complete` or the fault's kind. */
  callEnded?(operation: Operation, outcome: string, durationMs: number): void
  /** A call as a whole, once it has ended: one that was recorded, or that a rule decided about. */
  executed?(operation: Operation, execution: Execution): void
  /** The same of every other call, which is nearly all of them where nothing is kept. */
  executedUnrecorded?(operation: Operation, execution: Execution): void
}

/** Notes of what is to be told elsewhere: they are written in the same commit as what they tell of. */
export interface Outbox {
  /** A recorded call ends. Nothing if nobody is told of it. */
  ended(operation: Operation, entry: () => AuditEntry): readonly RecordChange[] | undefined
}

export interface Execution {
  entry: AuditEntry
  outcome: Outcome
  /** The span of the last attempt where there is one; else what the caller sent. */
  traceparent?: string
}

export interface AttemptObservation {
  /** The span in W3C form, for whatever the handler calls in turn. */
  readonly traceparent?: string
  /** Runs the handler with the attempt's span as the current one, so that the handler's own spans nest in it. */
  within<T>(run: () => T): T
  /** Without an outcome: the call waits for an answer from outside. */
  ended(outcome: Outcome | undefined): void
}

export interface ObservedAttempt {
  readonly number: number
  readonly job: { id: string; requestId: string; sessionId?: string; traceparent?: string }
  readonly run: { readonly failures: number }
}
