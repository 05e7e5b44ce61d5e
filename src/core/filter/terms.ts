/** The terms of a filter's text: `state:error op:v1:orders.* since:1h "acme"`. */

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

/** Years with four digits: others are no ISO 8601 that the server takes. */
const [FIRST_TIME, LAST_TIME] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')]

/** A time: an age such as `1h`, or ISO 8601. */
export function timeAt(text: string, now: number): string | undefined {
  const age = durationMs(text)
  const at = age === undefined ? Date.parse(text) : now - age
  return at >= FIRST_TIME && at <= LAST_TIME ? new Date(at).toISOString() : undefined
}
