/**
 * Plain text in Postgres. A text column holds neither U+0000 nor a lone surrogate, and callers may send both. They are
 * stored as U+0001 and four hex digits, and so is U+0001 itself. JSON text needs none of this: `JSON.stringify` escapes
 * them.
 */

const MARK = '\u0001'
const ESCAPED = new RegExp(`${MARK}([0-9a-f]{4})`, 'g')

export function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(MARK) && text.isWellFormed()) return text
  let encoded = ''
  for (const character of text) {
    const code = character.charCodeAt(0)
    const isLone = character.length === 1 && code >= 0xd800 && code <= 0xdfff
    encoded += isLone || code <= 1 ? MARK + code.toString(16).padStart(4, '0') : character
  }
  return encoded
}

export function decodeText(stored: string): string {
  if (!stored.includes(MARK)) return stored
  return stored.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
