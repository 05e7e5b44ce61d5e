/** The time of the machine, which a test can move forward. Timers that are due by then run at once. */
import type { Clock } from '../../src/core/ports/runtime.ts'
import { systemClock } from '../../src/server/build/environment.ts'

export interface LeapingClock extends Clock {
  leap(ms: number): void
}

interface Timer {
  atMs: number
  cancel(): void
  fire(): void
}

export function createLeapingClock(): LeapingClock {
  let aheadMs = 0
  const timers = new Set<Timer>()
  const monotonicMs = () => systemClock.monotonicMs() + aheadMs
  return {
    now: () => systemClock.now() + aheadMs,
    monotonicMs,
    schedule(delayMs, run) {
      const fire = () => {
        if (timers.delete(timer)) run()
      }
      const timer: Timer = { atMs: monotonicMs() + delayMs, cancel: systemClock.schedule(delayMs, fire), fire }
      timers.add(timer)
      return () => {
        timers.delete(timer)
        timer.cancel()
      }
    },
    leap(ms) {
      aheadMs += ms
      const due = [...timers].filter(({ atMs }) => atMs <= monotonicMs()).sort((one, other) => one.atMs - other.atMs)
      for (const timer of due) {
        timer.cancel()
        timer.fire()
      }
    },
  }
}
