/** Times for people, in one unit that a filter also understands: `250ms`, `1.5s`, `90s`, `12m`, `3h`, `2d`. */

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

export function durationText(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)}ms`
  if (ms < 10 * SECOND) return `${Math.floor(ms / 100) / 10}s`
  if (ms < 2 * MINUTE) return `${Math.floor(ms / SECOND)}s`
  if (ms < 2 * HOUR) return `${Math.floor(ms / MINUTE)}m`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`
  return `${Math.floor(ms / DAY)}d`
}

/** How long ago a time was. `?` if the text is no time. */
export function ageText(time: unknown, now: number): string {
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN
  // The clocks of two machines differ.
  return Number.isNaN(at) ? '?' : durationText(Math.max(0, now - at))
}
