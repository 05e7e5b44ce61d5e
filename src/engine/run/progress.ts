/** Progress on its way to the store: at most one write per interval, always the latest, and the last one before the end. */
import type { Progress } from '../../core/instance.ts'
import type { Clock } from '../../core/ports/runtime.ts'

export interface ProgressWriter {
  report(progress: Progress): void
  /** Writes what is still held back. Settles when all is written; nothing where nothing was ever reported. */
  flush(): Promise<void> | undefined
}

/** `write` never rejects, and answers nothing once nobody is interested any more. */
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

/** What a try reports, as it is stored: never less than before, also if a crash had the handler begin anew. */
export function progressOfTry(number: number, before: Progress | undefined): (reported: Progress) => Progress {
  let most = before?.attempt === number ? before.fraction : 0
  return ({ fraction, message }) => {
    most = Math.max(most, fraction)
    return { fraction: most, ...(message !== undefined && { message }), attempt: number }
  }
}
