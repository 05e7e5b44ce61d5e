/**
 * The slot of a call: 12 bits of hash(tenant, owner) inside its id. A store that keeps owners on several shards finds the
 * shard from an id alone. Uniqueness of request ids and keys ends at the owner, so a call and its namesakes share a slot.
 */

/** Slots are numbered from 0 up to, but not including, this. */
export const SLOTS = 4_096

/** In an id these three hex digits follow the version digit: RFC 9562 leaves them to the implementation (`rand_a`). */
const SLOT_START = 15
const SLOT_END = 18

/** Three hex digits: the first 12 bits of SHA-256 over `{tenant}\n{owner}`. `digest` is SHA-256 in hex. */
export function slotDigits(digest: (text: string) => string, tenant: string, owner: string): string {
  return digest(`${tenant}\n${owner}`).slice(0, SLOT_END - SLOT_START)
}

/** Of an id that `newCallId` made. */
export function slotOf(id: string): number {
  return Number.parseInt(id.slice(SLOT_START, SLOT_END), 16)
}

/** The same id with another slot. */
export function withSlot(id: string, digits: string): string {
  return id.slice(0, SLOT_START) + digits + id.slice(SLOT_END)
}
