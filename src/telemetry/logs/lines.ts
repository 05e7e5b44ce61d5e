/**
 * Log lines that are written once per call or request. The caller builds them as text, because a general encoder takes
 * three times as long. Our own log writes them unchanged; any other log receives fields.
 */
import type { Log } from '../../core/ports/runtime.ts'

/** `members` are the members of a JSON object, each with a leading comma: `,"status":200,"path":"/call"`. */
export type WriteLine = (members: string) => void

/** The method of our own log that returns a writer of such lines, at level info. */
export const LINES = Symbol('callplane.lines')

export interface LineLog extends Log {
  [LINES](message: string): WriteLine
}

/** All lines of one writer have the same message. The message has no characters that JSON escapes. */
export function lineWriter(log: Log, message: string): WriteLine {
  if (isLineLog(log)) return log[LINES](message)
  return (members) => log.info(JSON.parse(`{${members.slice(1)}}`), message)
}

function isLineLog(log: Log): log is LineLog {
  return LINES in log
}
