/**
 * Parses the source of a regular expression into a tree. It accepts the syntax of JavaScript with or without the `u`
 * flag. JavaScript's own engine decides which characters a set contains, one character at a time.
 */

/** The characters that one place of a pattern takes. */
export interface CharSet {
  readonly source: string
  /** Bit n is set if the ASCII character n is in the set. */
  readonly ascii: bigint
  /** True if the set can contain other characters. */
  readonly beyond: boolean
  has(codePoint: number): boolean
}

export type Node =
  | { kind: 'set'; set: CharSet }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; body: Node; min: number; max: number }
  | { kind: 'start' }
  | { kind: 'end' }
  | { kind: 'boundary' }
  | { kind: 'look'; body: Node }
  | { kind: 'backreference' }

/** Thrown for syntax that this parser does not know. The pattern may still be valid. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

const MAX_CHARS = 10_000
const MAX_NESTING = 100

export function parsePattern(source: string): Node {
  if (source.length > MAX_CHARS) throw new Unreadable('too long')
  const reader = new Reader(source)
  const node = reader.choice(0)
  if (!reader.atEnd) throw new Unreadable('an unmatched bracket')
  return node
}

const QUANTIFIER = /[*+?]\??|\{(\d+)(?:(,)(\d*))?\}\??/y
const CLASS = /\[(?:\\[\s\S]|[^\]\\])*\]/y
const ESCAPE =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|k<[^>]*>|[1-9]\d*|[\s\S])/y
const GROUP = /\((?:\?(?:(:)|(<?[=!])|<[^>]*>))?/y

class Reader {
  readonly #source: string
  readonly #sets = new Map<string, CharSet>()
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  get atEnd(): boolean {
    return this.#at >= this.#source.length
  }

  choice(depth: number): Node {
    if (depth > MAX_NESTING) throw new Unreadable('too deep')
    const options = [this.#sequence(depth)]
    while (this.#source[this.#at] === '|') {
      this.#at++
      options.push(this.#sequence(depth))
    }
    const [only] = options
    return only && options.length === 1 ? only : { kind: 'choice', options }
  }

  #sequence(depth: number): Node {
    const parts: Node[] = []
    while (!this.atEnd && this.#source[this.#at] !== '|' && this.#source[this.#at] !== ')') {
      parts.push(this.#quantified(this.#atom(depth)))
    }
    return { kind: 'sequence', parts }
  }

  #quantified(body: Node): Node {
    const found = this.#take(QUANTIFIER)
    if (!found) return body
    const [text, low, comma, high] = found
    if (low === undefined) {
      return { kind: 'repeat', body, min: text[0] === '+' ? 1 : 0, max: text[0] === '?' ? 1 : Number.POSITIVE_INFINITY }
    }
    const min = Number(low)
    const max = comma === undefined ? min : high ? Number(high) : Number.POSITIVE_INFINITY
    return { kind: 'repeat', body, min, max }
  }

  #atom(depth: number): Node {
    switch (this.#source[this.#at]) {
      case '(':
        return this.#group(depth)
      case '[': {
        const found = this.#take(CLASS)
        if (!found) throw new Unreadable('an unmatched bracket')
        return this.#set(found[0])
      }
      case '\\':
        return this.#escape()
      case '^':
        this.#at++
        return { kind: 'start' }
      case '$':
        this.#at++
        return { kind: 'end' }
      case '*':
      case '+':
      case '?':
        throw new Unreadable('nothing to repeat')
      default: {
        const char = String.fromCodePoint(this.#source.codePointAt(this.#at) as number)
        this.#at += char.length
        return this.#set(char === '.' ? '.' : /[{}\]/]/.test(char) ? `\\${char}` : char)
      }
    }
  }

  #group(depth: number): Node {
    const found = this.#take(GROUP)
    // Modifiers such as (?i: change what is inside.
    if (!found || this.#source[this.#at] === '?') throw new Unreadable('an unknown group')
    const body = this.choice(depth + 1)
    if (this.#source[this.#at] !== ')') throw new Unreadable('an unmatched bracket')
    this.#at++
    return found[2] === undefined ? body : { kind: 'look', body }
  }

  #escape(): Node {
    const found = this.#take(ESCAPE)
    if (!found) throw new Unreadable('an unfinished escape')
    const [text] = found
    if (text === '\\b' || text === '\\B') return { kind: 'boundary' }
    if (/^\\(?:k<|[1-9])/.test(text)) return { kind: 'backreference' }
    return this.#set(text)
  }

  #set(source: string): Node {
    let set = this.#sets.get(source)
    if (!set) {
      set = charSet(source)
      this.#sets.set(source, set)
    }
    return { kind: 'set', set }
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source)
    if (found) this.#at = pattern.lastIndex
    return found ?? undefined
  }
}

/** A set that names only ASCII characters and is not negated. */
const ASCII_ONLY =
  /^(?:\[(?!\^)(?:[\x20-\x5b\x5d-\x7e]|\\[dwtnrfv\\\]\-^$.*+?()[{}|/"'@#%&,:;<=>_`~! ])*\]|[\x20-\x2d\x2f-\x5b\x5d-\x7e]|\\[dwtnrfv]|\\[^\w\s])$/

export const ANY: CharSet = { source: '[^]', ascii: (1n << 128n) - 1n, beyond: true, has: () => true }

function charSet(source: string): CharSet {
  const native = nativeSet(source)
  let ascii = 0n
  for (let code = 0; code < 128; code++) if (native.test(String.fromCharCode(code))) ascii |= 1n << BigInt(code)
  const beyond = !ASCII_ONLY.test(source)
  return { source, ascii, beyond, has: (codePoint) => native.test(String.fromCodePoint(codePoint)) }
}

function nativeSet(source: string): RegExp {
  try {
    return new RegExp(`^${source}$`, 'u')
  } catch {
    try {
      // Escapes such as \- stand for themselves only without the flag.
      return new RegExp(`^${source}$`)
    } catch (cause) {
      throw new Unreadable('an unknown set of characters', { cause })
    }
  }
}
