/** Ids of calls: UUIDs of version 7, which stores index well. `crypto.randomUUID` exists only on secure pages. */

export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  const random = Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => byte.toString(16).padStart(2, '0'))
  const tail = random.join('')
  const variant = '89ab'[Number.parseInt(tail.charAt(3), 16) % 4]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(0, 3)}-${variant}${tail.slice(4, 7)}-${tail.slice(7, 19)}`
}
