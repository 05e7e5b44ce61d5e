/** A clock that only moves when a test moves it. */
import type { Clock } from '../../core/ports/runtime.ts'

export interface ManualClock extends Clock {
  /** Advances the time and runs due timers in order, each at its own time. */
  advance(ms: number): void
  /** Changes the wall clock as an administrator might: no time passes. A negative value sets it back. */
  set(byMs: number): void
}

export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let passedMs = 0
  let wallAheadMs = startMs
  const timers = new Set<{ at: number; run: () => void }>()

  function nextBy(end: number) {
    let next: { at: number; run: () => void } | undefined
    for (const timer of timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer
    return next
  }

  return {
    now: () => wallAheadMs + passedMs,
    monotonicMs: () => passedMs,
    schedule(delayMs, run) {
      const timer = { at: passedMs + Math.max(0, delayMs), run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const end = passedMs + ms
      for (let timer = nextBy(end); timer; timer = nextBy(end)) {
        timers.delete(timer)
        passedMs = timer.at
        timer.run()
      }
      passedMs = end
    },
    set(byMs) {
      wallAheadMs += byMs
    },
  }
}
