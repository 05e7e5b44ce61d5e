/**
 * The text of a filter: `state:error op:v1:orders.* since:1h "acme"`. Chips and text are the same string: a chip is a
 * term of the text. Pure.
 */

export interface Term {
  /** Empty for plain words. */
  readonly key: string
  readonly value: string
  /** Where it stands in the text. */
  readonly from: number
  readonly to: number
}

const TERM = /([a-z]+):(?:"((?:[^"\\]|\\.)*)"?|(\S*))|"((?:[^"\\]|\\.)*)"?|(\S+)/g

export function termsOf(text: string): Term[] {
  return [...text.matchAll(TERM)].map((found) => ({
    key: found[1] ?? '',
    value: (found[2] ?? found[4])?.replace(/\\([\s\S])/g, '$1') ?? found[3] ?? found[5] ?? '',
    from: found.index,
    to: found.index + found[0].length,
  }))
}

export function termText(key: string, value: string): string {
  const isPlain = /^[^\s"\\]+$/.test(value) && (key !== '' || !/^[a-z]+:/.test(value))
  const quoted = isPlain ? value : `"${value.replace(/["\\]/g, '\\$&')}"`
  return key === '' ? quoted : `${key}:${quoted}`
}

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

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** `90s`, `15m`, `1.5h`, `7d`. */
export function durationMs(text: string): number | undefined {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|min|h|d|w)$/.exec(text)
  const unit = UNITS[found?.[2] ?? '']
  return found && unit !== undefined ? Number(found[1]) * unit : undefined
}

/** A time: an age such as `1h`, or ISO 8601. */
export function timeAt(text: string, now: number): string | undefined {
  const age = durationMs(text)
  const at = age === undefined ? Date.parse(text) : now - age
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** The same filter with ages as times, for a link that means the same tomorrow. */
export function withFixedTimes(text: string, now: number): string {
  return termsOf(text).reduce((before, { key, value }) => {
    const isAge = (key === 'since' || key === 'until') && durationMs(value) !== undefined
    return isAge ? withTerm(before, key, timeAt(value, now) ?? value) : before
  }, text)
}
