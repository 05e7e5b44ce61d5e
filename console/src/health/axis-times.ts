/** The times below a chart: 24 hours, in the zone that the reader chose. The first time of each day has the date, too. */

const MINUTE = 60

/** `times` are seconds since 1970, `step` the seconds between two of them. Without a zone, that of the browser. */
export function axisTimes(times: readonly number[], step: number, zone?: 'UTC'): string[] {
  const inZone = zone && { timeZone: zone }
  const clock = new Intl.DateTimeFormat(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    ...(step < MINUTE && { second: '2-digit' }),
    hourCycle: 'h23',
    ...inZone,
  })
  const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', ...inZone })
  let before: string | undefined
  return times.map((seconds) => {
    const at = new Date(seconds * 1000)
    const day = date.format(at) + (zone ? ` ${zone}` : '')
    const isNewDay = day !== before
    before = day
    return isNewDay ? `${clock.format(at)}\n${day}` : clock.format(at)
  })
}
