/**
 * Keeps what is being written from looking like something a crash left behind: the sweep goes by when a file was last
 * touched, and a slow source may write nothing for longer than that. It works for writers in other processes, too.
 */
import { utimes } from 'node:fs/promises'
import type { Clock } from '../../core/ports/runtime.ts'

/** Touches the path every so often until the returned function is called. */
export type KeepFresh = (path: string) => () => void

/** A sixth of what the sweep waits for: a few that are missed do no harm. */
const TOUCH_EVERY_MS = 600_000

export function createFreshness(clock: Pick<Clock, 'now' | 'schedule'>): KeepFresh {
  return (path) => {
    let ended = false
    let cancel = () => {}
    const touch = () => {
      const seconds = clock.now() / 1000
      // A folder may not be there yet; and one that cannot be touched now is by the next try.
      void utimes(path, seconds, seconds).then(schedule, schedule)
    }
    const schedule = () => {
      if (!ended) cancel = clock.schedule(TOUCH_EVERY_MS, touch)
    }
    schedule()
    return () => {
      ended = true
      cancel()
    }
  }
}
