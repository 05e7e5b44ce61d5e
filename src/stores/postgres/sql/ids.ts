/**
 * Ids of calls in the database. They are UUIDs. A text that is none, for example from the address of a request, names no
 * call, and neither does the nil UUID.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const NIL = '0'.repeat(32)
const SHAPE = '00000000-0000-0000-0000-000000000000'
const DIGITS = '0123456789abcdef'
/** Below every id that has a time. */
export const LOWEST_ID = SHAPE
/** Above every id that has a time. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export const isId = (text: string): boolean => UUID.test(text)

/** For `encodeArray`: 32 digits. */
export function encodeId(id: string): string {
  return UUID.test(id) ? id.replaceAll('-', '') : NIL
}

/** The lowest id that is not below a text, in the order of texts. `LAST_ID` if all are below. */
export function firstIdFrom(text: string): string {
  if (UUID.test(text)) return text
  let id = ''
  for (let at = 0; at < SHAPE.length; at++) {
    const wanted = text[at]
    if (wanted === undefined) return id + SHAPE.slice(at)
    const allowed = SHAPE[at] === '-' ? '-' : DIGITS
    const next = [...allowed].find((digit) => digit >= wanted)
    if (next === undefined) return idAfter(id)
    id += next
    if (next !== wanted) return id + SHAPE.slice(at + 1)
  }
  return idAfter(id)
}

/** The lowest id above those that begin like this. */
function idAfter(start: string): string {
  for (let at = start.length - 1; at >= 0; at--) {
    const next = DIGITS[DIGITS.indexOf(start[at] as string) + 1]
    if (start[at] !== '-' && next !== undefined) return start.slice(0, at) + next + SHAPE.slice(at + 1)
  }
  return LAST_ID
}
