/** A clock that stands still until a test moves it. */
import type { Clock } from '../core/ports.ts'

export interface ManualClock extends Clock {
  /** Moves time on and runs what falls due on the way, in order, each at its own time. */
  advance(ms: number): void
}

export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let time = startMs
  const timers = new Set<{ at: number; run: () => void }>()

  function nextBy(end: number) {
    let next: { at: number; run: () => void } | undefined
    for (const timer of timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer
    return next
  }

  return {
    now: () => time,
    schedule(delayMs, run) {
      const timer = { at: time + Math.max(0, delayMs), run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const end = time + ms
      for (let timer = nextBy(end); timer; timer = nextBy(end)) {
        timers.delete(timer)
        time = timer.at
        timer.run()
      }
      time = end
    },
  }
}
