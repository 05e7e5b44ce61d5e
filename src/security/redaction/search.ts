/**
 * Finds secrets in bytes, including their encoded forms. Bytes are strings with one character per byte, so that regular
 * expressions work on them. Forms that encode the whole value (base64, hex) are searched directly. For encodings that
 * may escape each character separately (URLs, JSON, HTML), the bytes are decoded first and matches are mapped back.
 */

/** From `start` up to but not including `end`. */
export interface Range {
  start: number
  end: number
}

export interface Search {
  /** The maximum number of bytes of a form. */
  readonly longest: number
  /** Returns the ranges of all forms, sorted and disjoint, or `undefined` if there are none. */
  find(bytes: string): readonly Range[] | undefined
}

/**
 * Every form has at least this many bytes, and the pattern consists of these heads only: a pattern of whole forms can
 * be too large for V8.
 */
const HEAD = 8
/**
 * A match of this many bytes of a long secret counts as the secret. This bounds the work if a text repeats its
 * beginning.
 */
const ENOUGH = 256
/** For text in a JSON string in a JSON string in a log line. */
const MAX_NESTING = 3
/**
 * An upper bound for the encoded size of one byte: 9 as `\\\\u0021`, escaped in three JSON strings, 10 as `&#x000021;`.
 */
const GROWTH = 12

/** Returns all forms of a value that are searched directly. */
export function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8')
  const hex = bytes.toString('hex')
  return [...new Set([bytes.toString('latin1'), hex, hex.toUpperCase(), ...base64Forms(bytes)])]
}

/**
 * The whole value in base64, and its digits if it follows other bytes, as a password does in Basic authentication: at
 * each of the three alignments, the digits that depend on the value alone.
 */
function base64Forms(bytes: Buffer): string[] {
  const whole = bytes.toString('base64')
  const inner = [0, 1, 2].map((shift) => {
    const digits = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return digits.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
  })
  return [whole, whole.replace(/=+$/, ''), ...inner].flatMap((text) => [
    text,
    text.replaceAll('+', '-').replaceAll('/', '_'),
  ])
}

/** `values` has the forms of each value, with the value itself first. */
export function createSearch(values: Iterable<readonly string[]>): Search | undefined {
  const all = [...values]
  if (all.length === 0) return undefined
  // A "+" may be an encoded space in a URL, or a plus sign that is not encoded. If any value contains a space, both are
  // treated as equal everywhere.
  const fold = all.some(([value]) => value?.includes(' ')) ? foldBlanks : (text: string) => text
  const byHead = new Map<string, string[]>()
  for (const form of all.flat()) {
    const folded = fold(form)
    const head = folded.slice(0, HEAD)
    const known = byHead.get(head)
    if (known) known.push(folded)
    else byHead.set(head, [folded])
  }
  for (const forms of byHead.values()) forms.sort((a, b) => b.length - a.length)
  const pattern = new RegExp([...byHead.keys()].map(quote).join('|'), 'g')

  function literal(bytes: string, found: Range[]): void {
    pattern.lastIndex = 0
    for (let match = pattern.exec(bytes); match; match = pattern.exec(bytes)) {
      const { index } = match
      const length = lengthAt(bytes, index, byHead.get(match[0]) as string[])
      if (length > 0) found.push({ start: index, end: index + length })
      // Another value may begin inside this one.
      pattern.lastIndex = length >= ENOUGH ? index + length : index + 1
    }
  }

  function within(bytes: string, nesting: number, found: Range[]): void {
    literal(bytes, found)
    if (nesting === MAX_NESTING || !ENCODED.test(bytes)) return
    for (const encoding of ENCODINGS) {
      if (!bytes.includes(encoding.sign)) continue
      const decoded = bytes.replace(encoding.unit, (text) => fold(encoding.decode(text)))
      if (decoded === bytes) continue
      const inside: Range[] = []
      within(decoded, nesting + 1, inside)
      if (inside.length > 0) traceBack(bytes, encoding, merged(inside), found)
    }
  }

  const longest = Math.max(...all.map(([value = '']) => value.length)) * GROWTH
  return {
    longest,
    find(bytes) {
      if (bytes.length < HEAD) return undefined
      const found: Range[] = []
      within(fold(bytes), 0, found)
      return found.length > 0 ? merged(found) : undefined
    },
  }
}

/** Returns 0 if none of the forms matches. */
function lengthAt(bytes: string, at: number, forms: readonly string[]): number {
  for (const form of forms) {
    if (bytes.startsWith(form, at)) return form.length
    if (form.length > ENOUGH && bytes.startsWith(form.slice(0, ENOUGH), at)) return commonLength(bytes, at, form)
  }
  return 0
}

function commonLength(bytes: string, at: number, form: string): number {
  let length = ENOUGH
  while (bytes.charCodeAt(at + length) === form.charCodeAt(length)) length++
  return length
}

interface Encoding {
  /** If the text lacks this character, there is nothing to decode. */
  sign: string
  /** Matches the encoding of one character. */
  unit: RegExp
  decode(unit: string): string
}

const ENCODED = /[%\\&]/

const ENCODINGS: readonly Encoding[] = [
  // URLs and forms: any byte may be encoded, in upper or lower case.
  {
    sign: '%',
    unit: /%[0-9a-f]{2}/gi,
    decode: (unit) => String.fromCharCode(Number.parseInt(unit.slice(1), 16)),
  },
  // JSON, and quoted strings as `util.inspect` and others print them.
  {
    sign: '\\',
    unit: /\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9a-f]{4})|\\x[0-9a-f]{2}|\\["'\\/bfnrt]/gi,
    decode: decodeEscape,
  },
  {
    sign: '&',
    unit: /&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);/gi,
    decode: decodeEntity,
  },
]

const SHORT_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function decodeEscape(unit: string): string {
  const kind = unit.charAt(1)
  if (kind !== 'u' && kind !== 'x' && kind !== 'U' && kind !== 'X') return SHORT_ESCAPES[kind] ?? kind
  const codes = unit.split(/\\[ux]/i).slice(1)
  return asBytes(String.fromCharCode(...codes.map((code) => Number.parseInt(code, 16))))
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decodeEntity(unit: string): string {
  const name = unit.slice(1, -1).toLowerCase()
  if (!name.startsWith('#')) return ENTITIES[name] ?? unit
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10)
  return code <= 0x10ffff ? asBytes(String.fromCodePoint(code)) : unit
}

/** Converts text to a string with one character per byte of UTF-8. */
export function asBytes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is its own UTF-8.
  return /[^\x00-\x7f]/.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

/**
 * Adds the ranges in `bytes` that correspond to these ranges of the decoded bytes. An encoded unit is always covered as
 * a whole.
 */
function traceBack(bytes: string, { unit, decode }: Encoding, ranges: readonly Range[], found: Range[]): void {
  let next = 0
  let start: number | undefined
  /** The `length` decoded bytes from `at` correspond to the `taken` bytes from `from`, one to one or as a whole. */
  const visit = (at: number, length: number, from: number, taken: number, whole: boolean) => {
    for (let range = ranges[next]; range; range = ranges[next]) {
      if (range.start >= at + length) return
      start ??= whole ? from : from + range.start - at
      if (range.end > at + length) return
      found.push({ start, end: whole ? from + taken : from + range.end - at })
      start = undefined
      next++
    }
  }
  let at = 0
  let from = 0
  for (const { 0: text, index } of bytes.matchAll(unit)) {
    const plain = index - from
    const { length } = decode(text)
    visit(at, plain, from, plain, false)
    visit(at + plain, length, index, text.length, true)
    at += plain + length
    from = index + text.length
  }
  visit(at, bytes.length - from, from, bytes.length - from, false)
}

export function merged(ranges: Range[]): Range[] {
  ranges.sort((a, b) => a.start - b.start)
  const apart: Range[] = []
  for (const range of ranges) {
    const last = apart.at(-1)
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end)
    else apart.push({ ...range })
  }
  return apart
}

function foldBlanks(text: string): string {
  return text.replaceAll('+', ' ')
}

function quote(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
