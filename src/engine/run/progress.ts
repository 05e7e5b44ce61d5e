/**
 * Limits progress writes to one per interval. It always writes the latest report, and writes the last one before the
 * end.
 */
import type { Progress } from '../../core/call/instance.ts'
import type { Clock } from '../../core/ports/runtime.ts'

export interface ProgressWriter {
  report(progress: Progress): void
  /** Writes the pending report. Resolves when all reports are written. `undefined` if there never was one. */
  flush(): Promise<void> | undefined
}

/** `write` never rejects. It returns `undefined` once the call no longer runs here. */
export function throttleProgress(
  clock: Clock,
  everyMs: number,
  write: (progress: Progress) => Promise<void> | undefined,
): ProgressWriter {
  let latest: Progress | undefined
  let waiting = false
  let written: Promise<void> | undefined
  const send = () => {
    const writing = latest && write(latest)
    latest = undefined
    if (writing) written = writing
    return writing
  }
  const next = () => {
    waiting = send() !== undefined
    if (waiting) clock.schedule(everyMs, next)
  }
  return {
    report(progress) {
      latest = progress
      if (!waiting) next()
    },
    flush() {
      send()
      return written
    },
  }
}

/** The progress of a try as it is stored. It never decreases, even if the handler starts again after a crash. */
export function progressOfTry(number: number, before: Progress | undefined): (reported: Progress) => Progress {
  let most = before?.attempt === number ? before.fraction : 0
  return ({ fraction, message }) => {
    most = Math.max(most, fraction)
    return { fraction: most, ...(message !== undefined && { message }), attempt: number }
  }
}
