/** The time in the id of a call: RFC 9562, version 7. */

/** When the id was made, in Unix epoch milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** The lowest id of this moment. Ids are in the order of their times. */
export function idAt(ms: number): string {
  const digits = Math.min(Math.max(0, Math.floor(ms)), MAX_MS)
    .toString(16)
    .padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`
}

/** An id has 48 bits for the time. */
const MAX_MS = 2 ** 48 - 1
