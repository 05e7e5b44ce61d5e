/** Encodes and decodes JSON Pointers (RFC 6901). */

export function encodePointer(segments: readonly PropertyKey[]): string {
  return segments.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Decodes a pointer from a URI fragment, such as the `/$defs/a%20b` of `#/$defs/a%20b`. */
export function decodePointer(pointer: string): string[] {
  const segments = pointer.split('/').slice(1)
  return segments.map((segment) => {
    const plain = /%(?![0-9a-f]{2})/i.test(segment) ? segment : decodeURIComponent(segment)
    return plain.replaceAll('~1', '/').replaceAll('~0', '~')
  })
}
