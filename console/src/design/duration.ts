/** Durations, in the reader's language. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const decimal = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })

export function durationOf(ms: number): string {
  if (ms < SECOND) return `${decimal.format(ms)} ms`
  if (ms < MINUTE) return `${decimal.format(ms / SECOND)} s`
  if (ms < HOUR) return inTwo(ms, [MINUTE, 'min'], [SECOND, 's'])
  if (ms < DAY) return inTwo(ms, [HOUR, 'h'], [MINUTE, 'min'])
  return inTwo(ms, [DAY, 'd'], [HOUR, 'h'])
}

/** `3 min 20 s`, and `3 min` without a rest. */
function inTwo(ms: number, [large, largeName]: [number, string], [small, smallName]: [number, string]): string {
  const count = Math.round(ms / small)
  const [whole, rest] = [Math.floor(count / (large / small)), count % (large / small)]
  return `${whole} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`
}
