/** Changes to the text of a filter. Chips and text are the same string: a chip is a term of the text. Pure. */
import { durationMs, type Term, termsOf, termText, timeAt } from '../../../src/core/filter/terms.ts'

/** The text with the value of a key set, in the place of an earlier one. */
export function withTerm(text: string, key: string, value: string): string {
  const term = termText(key, value)
  const known = termsOf(text).find((one) => one.key === key)
  if (!known) return `${text.trim()} ${term}`.trim()
  return text.slice(0, known.from) + term + text.slice(known.to)
}

export function withoutTerm(text: string, { from, to }: Term): string {
  return `${text.slice(0, from).trimEnd()} ${text.slice(to).trimStart()}`.trim()
}

export function hasTerms(text: string, wanted: string): boolean {
  const present = termsOf(text)
  return termsOf(wanted).every(({ key, value }) => present.some((one) => one.key === key && one.value === value))
}

/** Adds all terms of another text, or takes them away if all are there. */
export function toggleTerms(text: string, wanted: string): string {
  const isOn = hasTerms(text, wanted)
  return termsOf(wanted).reduce((before, { key, value }) => {
    if (!isOn) return withTerm(before, key, value)
    const found = termsOf(before).find((one) => one.key === key && one.value === value)
    return found ? withoutTerm(before, found) : before
  }, text)
}

/** The same filter with ages as times, for a link that means the same tomorrow. */
export function withFixedTimes(text: string, now: number): string {
  return termsOf(text).reduce((before, { key, value }) => {
    const isAge = (key === 'since' || key === 'until') && durationMs(value) !== undefined
    return isAge ? withTerm(before, key, timeAt(value, now) ?? value) : before
  }, text)
}
