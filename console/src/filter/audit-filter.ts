/** The text of a filter as the filter of the audit trail. */
import type { AuditFilter } from '../api/types.ts'
import { termsOf, timeAt } from './terms.ts'

const KEYS: Readonly<Record<string, keyof AuditFilter>> = {
  op: 'operation',
  owner: 'owner',
  code: 'code',
  rule: 'rule',
  verdict: 'verdict',
  outcome: 'outcome',
  request: 'requestId',
}
const TIMES = ['since', 'until'] as const
const VERDICTS = ['allow', 'deny', 'hold']

export function readAuditFilter(text: string, now: number): { filter: AuditFilter; unknown: readonly string[] } {
  const unknown: string[] = []
  let filter: AuditFilter = {}
  for (const { key, value, from, to } of termsOf(text)) {
    const time = TIMES.find((name) => name === key)
    const at = time && timeAt(value, now)
    const name = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined
    const isWrong = name === 'verdict' && !VERDICTS.includes(value)
    if (time && at !== undefined) filter = { ...filter, [time]: at }
    else if (name && !isWrong) filter = { ...filter, [name]: value }
    else unknown.push(text.slice(from, to))
  }
  return { filter, unknown }
}
