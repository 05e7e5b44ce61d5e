/**
 * Notices that the wall clock was set, by comparing it with the monotonic one, and moves the times by which calls are
 * judged along with it: a lease, a back-off or a deadline takes as long as it was meant to. See
 * `docs/decisions/0014-time.md`.
 */
import type { Database } from 'better-sqlite3'
import type { Clock } from '../../core/ports/runtime.ts'
import type { FreshInstances } from './fresh-instances.ts'

/** Clocks are corrected by so little all the time; nobody minds waiting it out. */
const CORRECTION_MS = 1_000

export interface ClockSteps {
  /** By how much the clock was set forward (or back, if negative) since this was last asked. */
  stepMs(): number
  /** It could not be followed: it is said again. */
  undo(stepMs: number): void
  /** Only inside a transaction. */
  follow(stepMs: number): void
}

export function prepareClockSteps(db: Database, fresh: FreshInstances, clock: Clock): ClockSteps {
  const back = db.prepare<{ step: number }>(
    'UPDATE instances SET due_at = due_at + @step WHERE ended = 0 AND due_at IS NOT NULL',
  )
  // An approval waits until a date that people were told, and so does the call that it holds.
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
