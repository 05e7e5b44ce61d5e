/** The short form in which stores keep the audit entry of a call beside the call itself. */
import type { AuditEnding, AuditMatch } from '../ports/store.ts'

/** The values of nearly every entry. Only values that differ are written. */
export const USUAL_ENDING = { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' } as const

/** The fields that are not in the row of the call. */
export function encodeEnding(ending: AuditEnding): string {
  const { verdict, rule, approvalId, backend, attempts, outcome, code, about } = ending
  const own: Partial<AuditEnding> = {}
  if (backend !== USUAL_ENDING.backend) own.backend = backend
  if (verdict !== USUAL_ENDING.verdict) own.verdict = verdict
  if (attempts !== USUAL_ENDING.attempts) own.attempts = attempts
  if (outcome !== USUAL_ENDING.outcome) own.outcome = outcome
  if (rule !== undefined) own.rule = rule
  if (approvalId !== undefined) own.approvalId = approvalId
  if (code !== undefined) own.code = code
  if (about) own.about = about
  return JSON.stringify(own)
}

/**
 * How to find a value in the JSON of an entry without parsing it: a member as it is written. A quote inside a text is
 * escaped, so no other text contains it.
 */
export interface Member {
  has: string
  /** An entry without this is a match, too: the value is the usual one, which is not written. */
  orLacks?: string
}

/** The members of an entry that has these values, without the request id, which has a column of its own. */
export function membersOf({ verdict, outcome, code, rule }: AuditMatch): Member[] {
  const members: Member[] = []
  for (const [name, value] of Object.entries({ verdict, outcome, code, rule })) {
    if (value === undefined) continue
    const isUsual = (USUAL_ENDING as Record<string, unknown>)[name] === value
    members.push({ has: memberText(name, value), ...(isUsual && { orLacks: `"${name}":` }) })
  }
  return members
}

export function memberText(name: string, value: string): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}
