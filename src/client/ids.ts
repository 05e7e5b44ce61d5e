/** Ids of calls: UUIDs of version 7, which stores index well. */

export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomEnd()}`
}

/** The end of a random UUID: `xxx-yxxx-xxxxxxxxxxxx`. `randomUUID` is six times faster, and exists on secure pages only. */
function randomEnd(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID().slice(15)
  const random = hex(crypto.getRandomValues(new Uint8Array(10)))
  return `${random.slice(0, 3)}-8${random.slice(4, 7)}-${random.slice(7, 19)}`
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
