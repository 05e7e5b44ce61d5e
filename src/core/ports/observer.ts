/** The ports for spans, metrics and announcements. */
import type { Outcome } from '../call/instance.ts'
import type { Operation } from '../operation/operation.ts'
import type { AuditEntry, RecordChange } from './store.ts'

/** Receives spans and metrics from the engine. A method that is left out costs nothing. */
export interface Observer {
  /** `undefined` if this attempt is not observed. */
  attemptStarted?(operation: Operation, attempt: ObservedAttempt): AttemptObservation | undefined
  /** `outcome` is `complete` or the fault's kind. */
  callEnded?(operation: Operation, outcome: string, durationMs: number): void
  /** A whole call has ended. The call was recorded, or a rule decided about it. */
  executed?(operation: Operation, execution: Execution): void
  /** The same for every other call. These are nearly all calls on a server that retains nothing. */
  executedUnrecorded?(operation: Operation, execution: Execution): void
}

/** Builds announcements. Each is written in the same commit as the event that it announces. */
export interface Outbox {
  /** The records to write with the end of a recorded call. `undefined` if there is no subscriber. */
  ended(operation: Operation, entry: () => AuditEntry): readonly RecordChange[] | undefined
}

export interface Execution {
  entry: AuditEntry
  outcome: Outcome
  /** The span of the last attempt, or the caller's `traceparent` if there is no span. */
  traceparent?: string
}

export interface AttemptObservation {
  /** The span in W3C form, for requests that the handler makes. */
  readonly traceparent?: string
  /** Runs the handler with the attempt's span as the current one, so that the handler's spans are its children. */
  within<T>(run: () => T): T
  /** `outcome` is `undefined` if the call waits for a callback. */
  ended(outcome: Outcome | undefined): void
}

export interface ObservedAttempt {
  readonly number: number
  readonly job: { id: string; requestId: string; sessionId?: string; traceparent?: string }
  readonly run: { readonly failures: number }
}
