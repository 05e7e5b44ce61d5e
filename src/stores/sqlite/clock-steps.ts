/**
 * Notices that the wall clock was set, by comparing it with the monotonic clock. Then it moves the times of open calls
 * by the same amount, so that leases, back-offs and deadlines keep their length. See `docs/decisions/0014-time.md`.
 */
import type { Database } from 'better-sqlite3'
import type { Clock } from '../../core/ports/runtime.ts'
import type { FreshInstances } from './fresh-instances.ts'

/** Clocks are often corrected by less than this. Such a step is ignored. */
const CORRECTION_MS = 1_000

export interface ClockSteps {
  /** How far the clock was set forward since the last call (back, if negative). */
  stepMs(): number
  /** The step could not be followed, so the next `stepMs` reports it again. */
  undo(stepMs: number): void
  /** Only inside a transaction. */
  follow(stepMs: number): void
}

export function prepareClockSteps(db: Database, fresh: FreshInstances, clock: Clock): ClockSteps {
  const back = db.prepare<{ step: number }>(
    'UPDATE instances SET due_at = due_at + @step WHERE ended = 0 AND due_at IS NOT NULL',
  )
  // An approval waits until a date that people have seen, and so does the call that waits for it.
  const forward = db.prepare<{ step: number }>(
    `UPDATE instances SET expires_at = expires_at + @step, keep_until = keep_until + @step,
       due_at = due_at + iif(attempt = settled AND extras ->> 'held' = 1, 0, @step)
     WHERE ended = 0`,
  )
  const limits = ['deadlineAt', 'tryEndsAt'].map((name) =>
    db.prepare<{ step: number }>(
      `UPDATE instances SET extras = json_set(extras, '$.${name}', (extras ->> '${name}') + @step)
       WHERE ended = 0 AND extras ->> '${name}' IS NOT NULL`,
    ),
  )
  let wallAheadMs = clock.now() - clock.monotonicMs()

  return {
    stepMs() {
      const aheadMs = clock.now() - clock.monotonicMs()
      const stepMs = aheadMs - wallAheadMs
      if (Math.abs(stepMs) <= CORRECTION_MS) return 0
      wallAheadMs = aheadMs
      return stepMs
    },
    undo(stepMs) {
      wallAheadMs -= stepMs
    },
    follow(step) {
      fresh.clear()
      if (step > 0) forward.run({ step })
      else back.run({ step })
      for (const limit of limits) limit.run({ step })
    },
  }
}
