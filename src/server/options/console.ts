/** The options of the console: the page at `/explorer/` and `/console/`, and its login. */
import { Fault } from '../../core/fault.ts'

export interface ConsoleOptions {
  /** No session of the console can change anything: every mutation is refused by the server. Default: false. */
  readOnly?: boolean
}

export const CONSOLE_NAMES: Record<keyof ConsoleOptions, true> = { readOnly: true }

export function checkConsole({ readOnly }: ConsoleOptions): void {
  if (readOnly === undefined || typeof readOnly === 'boolean') return
  throw new Fault('malformed', 'console.readOnly must be true or false.', { code: 'INVALID_OPTION' })
}
