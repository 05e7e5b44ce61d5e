/** Pieces of Go text: literals, comments and field tags. Nothing from a registry is printed in another way. */
import { plainLines } from '../shapes/words.ts'

/** A literal of ASCII characters only, so that nothing in it can look like something else. */
export function stringLiteral(text: string): string {
  const inner = text.replace(/["\\]|[^\x20-\x7e]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '"' || character === '\\') return `\\${character}`
    // Half of a surrogate pair is no character in Go.
    if (code >= 0xd800 && code <= 0xdfff) return '\\ufffd'
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
  return `"${inner}"`
}

/** A comment that gofmt leaves as it is: without headings, links, indented lines, and quotes that it would curl. */
export function comment(text: string, indent = ''): string[] {
  return plainLines(text).map((line) => {
    const plain = line
      .trim()
      .replace(/''+|``+/g, '"')
      .replace(/^[#[]/, '- $&')
    return plain === '' ? `${indent}//` : `${indent}// ${plain}`
  })
}

/** True if `encoding/json` accepts the name in a tag. */
export function isTagName(name: string): boolean {
  return /^[\p{L}\p{Nd}!#$%&()*+\-./:;<=>?@[\]^_{|}~ ]+$/u.test(name)
}

export function fieldTag(name: string, optional: boolean): string {
  if (optional) return `\`json:"${name},omitempty"\``
  return name === '-' ? '`json:"-,"`' : `\`json:"${name}"\``
}
