/**
 * The slot of a call: 12 bits of hash(tenant, owner) inside its id. A store that keeps owners on several shards finds
 * the shard from the id alone. Request ids and keys are unique per owner, so calls with the same request id or key
 * share a slot.
 */

/** The number of slots. The first one is 0. */
export const SLOTS = 4_096

/** In an id these three hex digits follow the version digit: RFC 9562 leaves them to the implementation (`rand_a`). */
const SLOT_START = 15
const SLOT_END = 18
const CALL_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Three hex digits: the first 12 bits of SHA-256 over `{tenant}\n{owner}`. `digest` is SHA-256 in hex. */
export function slotDigits(digest: (text: string) => string, tenant: string, owner: string): string {
  return digest(`${tenant}\n${owner}`).slice(0, SLOT_END - SLOT_START)
}

/**
 * The slot of an owner: 0 to 4,095. It never changes, because stored ids contain it. `digest` is SHA-256 in hex, which
 * every router has: the slot is the number in the first three digits.
 */
export function slotOf(digest: (text: string) => string, tenant: string, owner: string): number {
  return Number.parseInt(slotDigits(digest, tenant, owner), 16)
}

/** The slot inside an id that `newCallId` created. `undefined` for a text that has none. */
export function slotOfId(id: string): number | undefined {
  const digits = id.slice(SLOT_START, SLOT_END)
  return CALL_ID.test(id) ? Number.parseInt(digits, 16) : undefined
}

/** The same id with another slot. */
export function withSlot(id: string, digits: string): string {
  return id.slice(0, SLOT_START) + digits + id.slice(SLOT_END)
}
