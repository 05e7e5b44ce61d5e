/**
 * Lines that are written once for each call or request, and put together as text by whoever knows their fields: a
 * general encoder takes three times as long. Our own log takes them as they are; any other gets fields, as always.
 */
import type { Log } from '../core/ports.ts'

/** `members` are those of a JSON object, each with a comma before it: `,"status":200,"path":"/call"`. */
export type WriteLine = (members: string, message: string) => void

/** Where our own log has its writer of such lines; at level info. */
export const LINES = Symbol('callplane.lines')

export interface LineLog extends Log {
  [LINES](): WriteLine
}

export function lineWriter(log: Log): WriteLine {
  if (isLineLog(log)) return log[LINES]()
  return (members, message) => log.info(JSON.parse(`{${members.slice(1)}}`), message)
}

function isLineLog(log: Log): log is LineLog {
  return LINES in log
}
