/** Combines several observers of the engine into one. An observer may implement only some of the methods. */
import type { Observer } from '../core/ports/observer.ts'

/** Leaves out methods that no observer implements, so that the engine prepares nothing for them. */
export function combineObservers(...given: readonly (Observer | undefined)[]): Observer | undefined {
  const ofAttempts = given.flatMap((observer) => observer?.attemptStarted?.bind(observer) ?? [])
  const ofCalls = given.flatMap((observer) => observer?.callEnded?.bind(observer) ?? [])
  const ofExecutions = given.flatMap((observer) => observer?.executed?.bind(observer) ?? [])
  const ofUnrecorded = given.flatMap((observer) => observer?.executedUnrecorded?.bind(observer) ?? [])
  if (ofAttempts.length + ofCalls.length + ofExecutions.length + ofUnrecorded.length === 0) return undefined
  return {
    ...(ofAttempts.length > 0 && { attemptStarted: combineAttempts(ofAttempts) }),
    ...(ofCalls.length > 0 && { callEnded: combineEnds(ofCalls) }),
    ...(ofExecutions.length > 0 && { executed: combineExecutions(ofExecutions) }),
    ...(ofUnrecorded.length > 0 && { executedUnrecorded: combineExecutions(ofUnrecorded) }),
  }
}

type AttemptStarted = NonNullable<Observer['attemptStarted']>
type CallEnded = NonNullable<Observer['callEnded']>

function combineAttempts(starts: readonly AttemptStarted[]): AttemptStarted {
  const [only] = starts
  if (only && starts.length === 1) return only
  return (operation, attempt) => {
    const observations = starts.flatMap((start) => start(operation, attempt) ?? [])
    const traceparent = observations.find((observation) => observation.traceparent !== undefined)?.traceparent
    return {
      ...(traceparent !== undefined && { traceparent }),
      within: <T>(run: () => T) => observations.reduceRight((inner, outer) => () => outer.within(inner), run)(),
      ended(outcome) {
        for (const observation of observations) observation.ended(outcome)
      },
    }
  }
}

function combineEnds(ends: readonly CallEnded[]): CallEnded {
  const [only] = ends
  if (only && ends.length === 1) return only
  return (operation, outcome, durationMs) => {
    for (const ended of ends) ended(operation, outcome, durationMs)
  }
}

type Executed = NonNullable<Observer['executed']>

function combineExecutions(listeners: readonly Executed[]): Executed {
  const [only] = listeners
  if (only && listeners.length === 1) return only
  return (operation, execution) => {
    for (const executed of listeners) executed(operation, execution)
  }
}
