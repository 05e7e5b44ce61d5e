/**
 * Lines that are written once for each call or request, and put together as text by whoever knows their fields: a
 * general encoder takes three times as long. Our own log takes them as they are; any other gets fields, as always.
 */
import type { Log } from '../../core/ports/runtime.ts'

/** `members` are those of a JSON object, each with a comma before it: `,"status":200,"path":"/call"`. */
export type WriteLine = (members: string) => void

/** Where our own log has its writer of such lines; at level info. */
export const LINES = Symbol('callplane.lines')

export interface LineLog extends Log {
  [LINES](message: string): WriteLine
}

/** All lines of one writer have the same message, which holds nothing that JSON escapes. */
export function lineWriter(log: Log, message: string): WriteLine {
  if (isLineLog(log)) return log[LINES](message)
  return (members) => log.info(JSON.parse(`{${members.slice(1)}}`), message)
}

function isLineLog(log: Log): log is LineLog {
  return LINES in log
}
