/** Isolates the engine from its observers: an error in an observer is logged, and the call continues. */
import type { AttemptObservation, Observer } from '../core/ports/observer.ts'
import type { Log } from '../core/ports/runtime.ts'

export function harmless(observer: Observer, log: Log): Observer {
  const { attemptStarted, callEnded, executed, executedUnrecorded } = observer
  return {
    ...(attemptStarted && {
      attemptStarted(operation, attempt) {
        try {
          const observation = attemptStarted.call(observer, operation, attempt)
          return observation && harmlessObservation(observation, log)
        } catch (err) {
          return report(log, err)
        }
      },
    }),
    ...(callEnded && {
      callEnded(operation, outcome, durationMs) {
        try {
          callEnded.call(observer, operation, outcome, durationMs)
        } catch (err) {
          report(log, err)
        }
      },
    }),
    ...(executed && {
      executed(operation, execution) {
        try {
          executed.call(observer, operation, execution)
        } catch (err) {
          report(log, err)
        }
      },
    }),
    ...(executedUnrecorded && {
      executedUnrecorded(operation, execution) {
        try {
          executedUnrecorded.call(observer, operation, execution)
        } catch (err) {
          report(log, err)
        }
      },
    }),
  }
}

function harmlessObservation(observation: AttemptObservation, log: Log): AttemptObservation {
  const { traceparent } = observation
  return {
    ...(traceparent !== undefined && { traceparent }),
    /** Runs `run` exactly once, even if the observation fails. */
    within(run) {
      let ran: { value: ReturnType<typeof run> } | undefined
      try {
        observation.within(() => {
          ran = { value: run() }
        })
      } catch (err) {
        report(log, err)
      }
      return ran ? ran.value : run()
    },
    ended(outcome) {
      try {
        observation.ended(outcome)
      } catch (err) {
        report(log, err)
      }
    },
  }
}

function report(log: Log, err: unknown): undefined {
  log.error({ err }, 'an observer failed; the call continues')
}
