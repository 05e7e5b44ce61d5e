/** The text of a filter as the filter of the audit trail. */
import { termsOf, timeAt } from '../../../src/core/filter/terms.ts'
import type { AuditFilter } from '../api/types.ts'

const KEYS: ReadonlyMap<string, keyof AuditFilter> = new Map<string, keyof AuditFilter>([
  ['op', 'operation'],
  ['owner', 'owner'],
  ['code', 'code'],
  ['rule', 'rule'],
  ['verdict', 'verdict'],
  ['outcome', 'outcome'],
  ['request', 'requestId'],
])
const TIMES = ['since', 'until'] as const
const VERDICTS = ['allow', 'deny', 'hold']

export function readAuditFilter(text: string, now: number): { filter: AuditFilter; unknown: readonly string[] } {
  const unknown: string[] = []
  let filter: AuditFilter = {}
  for (const { key, value, from, to } of termsOf(text)) {
    const time = TIMES.find((name) => name === key)
    const at = time && timeAt(value, now)
    const name = KEYS.get(key)
    const isWrong = name === 'verdict' && !VERDICTS.includes(value)
    if (time && at !== undefined) filter = { ...filter, [time]: at }
    else if (name && !isWrong) filter = { ...filter, [name]: value }
    else unknown.push(text.slice(from, to))
  }
  return { filter, unknown }
}
