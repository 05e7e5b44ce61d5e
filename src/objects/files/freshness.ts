/**
 * Keeps files that are being written from looking like leftovers of a crash. The sweep looks at the last modification,
 * and a slow source may write nothing for longer than the sweep waits. This also works for writers in other processes.
 */
import { utimes } from 'node:fs/promises'
import type { Clock } from '../../core/ports/runtime.ts'

/** Touches the path at intervals until the returned function is called. */
export type KeepFresh = (path: string) => () => void

/** A sixth of the sweep's waiting time, so that a few missed touches do no harm. */
const TOUCH_EVERY_MS = 600_000

export function createFreshness(clock: Pick<Clock, 'now' | 'schedule'>): KeepFresh {
  return (path) => {
    let ended = false
    let cancel = () => {}
    const touch = () => {
      const seconds = clock.now() / 1000
      // The folder may not exist yet, and a failed touch is tried again at the next interval.
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
