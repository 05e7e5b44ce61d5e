/** Formats times as ISO 8601. Most log lines share the millisecond, or at least the second, of the line before. */

export type TimeText = (ms: number) => string

/** Returns the same text as `Date.prototype.toISOString`, which takes ten times as long. */
export function createTimeText(): TimeText {
  let lastMs = Number.NaN
  let lastSecond = Number.NaN
  let untilSecond = ''
  let text = ''
  return (ms) => {
    if (ms === lastMs) return text
    const second = Math.floor(ms / 1000)
    if (second !== lastSecond) {
      untilSecond = new Date(second * 1000).toISOString().slice(0, -4)
      lastSecond = second
    }
    const rest = Math.trunc(ms - second * 1000)
    text = `${untilSecond}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`
    lastMs = ms
    return text
  }
}
