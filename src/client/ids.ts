/** Ids of calls: UUIDs of version 7, which stores index well. `crypto.randomUUID` exists only on secure pages. */

export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  const random = hex(crypto.getRandomValues(new Uint8Array(10)))
  const variant = '89ab'[Number.parseInt(random.charAt(3), 16) % 4]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
