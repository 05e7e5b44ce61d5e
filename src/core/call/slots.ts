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

/** Three hex digits: the first 12 bits of SHA-256 over `{tenant}\n{owner}`. `digest` is SHA-256 in hex. */
export function slotDigits(digest: (text: string) => string, tenant: string, owner: string): string {
  return digest(`${tenant}\n${owner}`).slice(0, SLOT_END - SLOT_START)
}

/** The slot of an id that `newCallId` created. */
export function slotOf(id: string): number {
  return Number.parseInt(id.slice(SLOT_START, SLOT_END), 16)
}

/** The same id with another slot. */
export function withSlot(id: string, digits: string): string {
  return id.slice(0, SLOT_START) + digits + id.slice(SLOT_END)
}
