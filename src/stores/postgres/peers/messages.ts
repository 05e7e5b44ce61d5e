/**
 * Messages between nodes, as lines of notifications. A line fits into one notification, and is ASCII, so that its length
 * is its size. The ids of calls, which travel on the same channels, do not begin with the mark.
 */
import type { Counts } from '../../../core/fairness/tally.ts'
import type { FaultRecord } from '../../../core/fault.ts'

export type Message =
  /** Look at the slots of this operation. */
  | ['slots', operation: string]
  | ['stop', id: string, why: FaultRecord]
  | ['counts', ...Counts]
  /** A question to all. Only a node for which it holds answers, with `yes`. */
  | ['ask', question: number, topic: string, about: string]
  | ['yes', question: number]
  | ['added', set: string, value: string]

const MARK = '@'
const MAX_LINE = 7_000

/** `undefined` if it is too long. */
export function encodeMessage(from: number, message: Message): string | undefined {
  const text = JSON.stringify([from, ...message]).replace(/[\u007f-\uffff]/g, escapeUnit)
  return text.length < MAX_LINE ? MARK + text : undefined
}

export function decodeMessage(line: string): { from: number; message: Message } {
  const [from, ...message] = JSON.parse(line.slice(MARK.length)) as [number, ...Message]
  return { from, message }
}

export function isMessage(line: string): boolean {
  return line.startsWith(MARK)
}

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
