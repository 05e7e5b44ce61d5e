/** Several watchers of the engine as one. A watcher may care for calls only, or for attempts only. */
import type { AttemptObservation, Observer } from '../core/ports.ts'

/** Shared by all attempts that nobody watches. */
const UNWATCHED: AttemptObservation = { within: (run) => run(), ended: () => {} }

/** Nothing if there is nobody, so that the engine calls nothing. */
export function combineObservers(...given: readonly (Partial<Observer> | undefined)[]): Observer | undefined {
  const ofAttempts = given.flatMap((observer) => observer?.attemptStarted?.bind(observer) ?? [])
  const ofCalls = given.flatMap((observer) => observer?.callEnded?.bind(observer) ?? [])
  const ofExecutions = given.flatMap((observer) => observer?.executed?.bind(observer) ?? [])
  if (ofAttempts.length + ofCalls.length + ofExecutions.length === 0) return undefined
  return {
    attemptStarted: combineAttempts(ofAttempts),
    callEnded: combineEnds(ofCalls),
    // Left out where nobody listens: the engine then puts nothing together for it.
    ...(ofExecutions.length > 0 && { executed: combineExecutions(ofExecutions) }),
  }
}

function combineAttempts(starts: readonly Observer['attemptStarted'][]): Observer['attemptStarted'] {
  const [only] = starts
  if (!only) return () => UNWATCHED
  if (starts.length === 1) return only
  return (operation, attempt) => {
    const observations = starts.map((start) => start(operation, attempt))
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

function combineEnds(ends: readonly Observer['callEnded'][]): Observer['callEnded'] {
  const [only] = ends
  if (only && ends.length === 1) return only
  return (operation, outcome, durationMs) => {
    for (const ended of ends) ended(operation, outcome, durationMs)
  }
}

type Executed = NonNullable<Observer['executed']>

function combineExecutions(listeners: readonly Executed[]): Executed {
  return (operation, execution) => {
    for (const executed of listeners) executed(operation, execution)
  }
}
