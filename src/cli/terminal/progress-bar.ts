/** A progress bar on one line of a terminal. It is redrawn in place and removed when the call ends. */
import type { Output } from '../command.ts'
import { fitted } from './text.ts'

const BAR_WIDTH = 24
const CLEAR_LINE = '\r\u001b[2K'

export interface Shown {
  fraction: number
  message?: string
  attempt?: number
}

export interface ProgressBar {
  show(state: string, progress?: Shown): void
  clear(): void
}

/** Draws nothing if the output is not a terminal. */
export function createProgressBar(output: Output): ProgressBar {
  if (!output.isTTY) return { show() {}, clear() {} }
  return {
    show: (state, progress) => {
      // Some terminals report 0 columns. Some start a new line as soon as the last column is written.
      output.write(CLEAR_LINE + barText(state, progress, (output.columns || 80) - 1))
    },
    clear: () => void output.write(CLEAR_LINE),
  }
}

export function barText(state: string, progress: Shown | undefined, width: number) {
  if (!progress) return fitted(`${state} …`, width)
  const fraction = Math.min(1, Math.max(0, progress.fraction))
  const filled = Math.round(fraction * BAR_WIDTH)
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
  const percent = `${Math.floor(fraction * 100)}%`.padStart(4)
  const attempt = progress.attempt ?? 1
  const again = attempt > 1 ? `attempt ${attempt}: ` : ''
  return fitted(`${bar} ${percent}  ${again}${progress.message ?? state}`, width)
}
