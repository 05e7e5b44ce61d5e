/** Times, durations, sizes and counts, in the reader's language and in the zone that they chose. */
import { usePage } from '../shell/page.ts'

export { durationOf } from './duration.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const STEPS: readonly [number, Intl.RelativeTimeFormatUnit][] = [
  [DAY, 'day'],
  [HOUR, 'hour'],
  [MINUTE, 'minute'],
  [SECOND, 'second'],
]

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' })

export function agoOf(time: string, now = Date.now()): string {
  const ms = Date.parse(time) - now
  const [size, unit] = STEPS.find(([step]) => Math.abs(ms) >= step) ?? [SECOND, 'second']
  return relative.format(Math.trunc(ms / size), unit)
}

/** `31 Oct, 14:03:22.123`. With `utc`, a `Z` at the end says so. */
export function timeOf(time: string, utc: boolean, precise = false): string {
  const format = new Intl.DateTimeFormat(undefined, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    ...(precise && { fractionalSecondDigits: 3, year: 'numeric' }),
    ...(utc && { timeZone: 'UTC' }),
  })
  return format.format(new Date(time)) + (utc ? ' Z' : '')
}

const decimal = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })
const whole = new Intl.NumberFormat()

export function countOf(number: number): string {
  return whole.format(number)
}

export function bytesOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1e6) return `${decimal.format(bytes / 1e3)} kB`
  if (bytes < 1e9) return `${decimal.format(bytes / 1e6)} MB`
  return `${decimal.format(bytes / 1e9)} GB`
}

/** A time. The tooltip has the other form: relative beside absolute. */
export function Time({ at, ago = false, precise = false }: { at: string; ago?: boolean; precise?: boolean }) {
  const { preferences } = usePage()
  const utc = preferences.utc.value
  return (
    <time dateTime={at} title={ago ? timeOf(at, utc, true) : agoOf(at)} class="number">
      {ago ? agoOf(at) : timeOf(at, utc, precise)}
    </time>
  )
}
