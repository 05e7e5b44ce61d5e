/** Pieces of Python text: literals, docstrings and identifiers. Nothing from a registry is printed in another way. */
import { plainLines, snakeName } from '../shapes/words.ts'

const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case type self'.split(
    ' ',
  ),
)

/** A literal of ASCII characters only, so that nothing in it can look like something else. */
export function stringLiteral(text: string): string {
  const inner = text.replace(/["\\]|[^\x20-\x7e]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '"' || character === '\\') return `\\${character}`
    if (character === '\n') return '\\n'
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
  return `"${inner}"`
}

export function docstring(text: string | undefined, indent: string): string[] {
  const lines =
    text === undefined ? [] : plainLines(text).map((line) => line.replaceAll('\\', '\\\\').replaceAll('"', '\\"'))
  if (lines.join('') === '') return []
  if (lines.length === 1) return [`${indent}"""${lines[0]}"""`]
  return [
    `${indent}"""${lines[0]}`,
    ...lines.slice(1).map((line) => (line === '' ? '' : indent + line)),
    `${indent}"""`,
  ]
}

export function comment(text: string | undefined, indent: string): string[] {
  return text === undefined ? [] : plainLines(text).map((line) => `${indent}# ${line}`.trimEnd())
}

export function attributeName(name: string): string {
  const snake = snakeName(name)
  return KEYWORDS.has(snake) ? `${snake}_` : snake
}

/** True if a class can have a field of this name. A name that starts with two underscores would be changed by Python. */
export function isFieldName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith('__') && !KEYWORDS.has(name)
}
