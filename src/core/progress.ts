/** Progress on its way to the store: at most one write per interval, and always the latest. */
import type { Progress } from './model.ts'
import type { Clock } from './ports.ts'

/** `write` is asked again for the rest as long as it says that somebody is still interested. */
export function throttleProgress(
  clock: Clock,
  everyMs: number,
  write: (progress: Progress) => boolean,
): (progress: Progress) => void {
  let latest: Progress | undefined
  let waiting = false
  const flush = () => {
    waiting = false
    const progress = latest
    latest = undefined
    if (!progress || !write(progress)) return
    waiting = true
    clock.schedule(everyMs, flush)
  }
  return (progress) => {
    latest = progress
    if (!waiting) flush()
  }
}
