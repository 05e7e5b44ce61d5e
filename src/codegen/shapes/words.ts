/** Names of the registry as names of a language: words of ASCII letters and digits. */

/** `getItem`, `get-item`, `HTTPItem2` → `get item`, `get item`, `http item2`. Other characters become their code. */
export function wordsOf(text: string): string[] {
  const ascii = text.replace(/[^\x20-\x7e]/gu, (character) => ` u${character.codePointAt(0)?.toString(16)} `)
  return ascii
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase())
}

/** `OrdersGetItem`. Starts with a letter. */
export function pascalName(...texts: readonly string[]): string {
  const name = texts
    .flatMap(wordsOf)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
  return /^[A-Z]/.test(name) ? name : `X${name}`
}

/** `get_item`. Starts with a letter. */
export function snakeName(text: string): string {
  const name = wordsOf(text).join('_')
  return /^[a-z]/.test(name) ? name : `x_${name}`
}

/** Invisible and bidirectional characters in a description could make code look like other code. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu

/** A text for people, as lines without characters that a reader does not see. */
export function plainLines(text: string): string[] {
  return text
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => line.replace(UNSEEN, ' ').trimEnd())
    .join('\n')
    .trim()
    .split('\n')
    .filter((line, index, lines) => line !== '' || lines[index - 1] !== '')
}
