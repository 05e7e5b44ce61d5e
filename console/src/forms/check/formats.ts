/** Formats of strings, each with a test in linear time. Unknown formats say nothing. */

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d)(?::?(\d\d))?)$/i
const DURATION = /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const MAIL_NAME = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const BYTE = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/
const NOT_IN_URI = /[\s"<>\\^`{|}]|[^\x21-\x7e]|%(?![0-9a-f]{2})/i

const TESTS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['duration', (text) => DURATION.test(text)],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', (text) => /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`)],
  ['uri', (text) => /^[a-z][a-z0-9+.-]*:[^#]/i.test(text) && isUriReference(text)],
  ['uri-reference', isUriReference],
  ['uuid', (text) => /^(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)],
  ['json-pointer', (text) => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)],
  ['regex', isRegex],
])

export function isOfFormat(format: string, text: string): boolean {
  return TESTS.get(format)?.(text) ?? true
}

function isDate(text: string): boolean {
  const [, year = 0, month = 0, day = 0] = DATE.exec(text)?.map(Number) ?? []
  // Day 0 of the next month is the last day of this one.
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

function isTime(text: string): boolean {
  const match = TIME.exec(text)
  if (!match) return false
  const [hours, minutes, seconds] = match.slice(1, 4).map(Number) as [number, number, number]
  const sign = match[4] === '-' ? -1 : 1
  const [zoneHours, zoneMinutes] = [Number(match[5] ?? 0), Number(match[6] ?? 0)]
  if (hours > 23 || minutes > 59 || zoneHours > 23 || zoneMinutes > 59) return false
  if (seconds < 60) return true
  // A leap second ends a day in UTC.
  const utc = hours * 60 + minutes - sign * (zoneHours * 60 + zoneMinutes)
  return seconds === 60 && ((utc % 1440) + 1440) % 1440 === 1439
}

function isDateTime(text: string): boolean {
  const [date = '', time = '', ...more] = text.split(/t|\s/i)
  return more.length === 0 && isDate(date) && isTime(time)
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  return at > 0 && MAIL_NAME.test(text.slice(0, at)) && text.includes('.', at) && isHostname(text.slice(at + 1))
}

function isHostname(text: string): boolean {
  return (
    text.length <= 253 &&
    text
      .replace(/\.$/, '')
      .split('.')
      .every((label) => LABEL.test(label))
  )
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => BYTE.test(part))
}

function isUriReference(text: string): boolean {
  return !NOT_IN_URI.test(text) && URL.canParse(text, 'schema://host/')
}

function isRegex(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}
