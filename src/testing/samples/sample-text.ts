/** Generates a text that matches a JSON Schema: format, pattern and length. */
import type { JsonObject } from '../../core/json.ts'

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'ada@example.com',
  'idn-email': 'ada@example.com',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  iri: 'https://example.com/',
  'uri-reference': '/path',
  'uri-template': '/path/{id}',
  uuid: '3f1c2d4e-5a6b-4c7d-8e9f-0a1b2c3d4e5f',
  'json-pointer': '/a/b',
  regex: '^a$',
  byte: 'dGV4dA==',
  base64: 'dGV4dA==',
}

export function sampleText({ format, pattern, minLength, maxLength }: JsonObject): string {
  const formatted = typeof format === 'string' ? FORMATS[format] : undefined
  if (formatted !== undefined) return formatted
  const least = typeof minLength === 'number' ? minLength : 0
  const most = typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY
  if (typeof pattern === 'string') return matching(pattern, least, most)
  return 'text'.padEnd(Math.min(least, 100_000), 'x').slice(0, most)
}

/** Texts that match common patterns, simplest first. */
const CANDIDATES = [
  'text',
  'a',
  'A',
  '1',
  '2026-01',
  '2026',
  ...Object.values(FORMATS),
  'EUR',
  'en',
  'en-GB',
  '#00ff00',
  '+4915112345678',
  '1.0.0',
  'v1',
  'text-1',
  'Text',
]

function matching(pattern: string, least: number, most: number): string {
  const expression = compile(pattern)
  const fits = (text: string) => text.length >= least && text.length <= most && (expression?.test(text) ?? true)
  return CANDIDATES.find(fits) ?? new PatternReader(pattern).sample()
}

function compile(pattern: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags)
    } catch {
      // Some patterns are valid only without the flag. Some are invalid, and then any text will do.
    }
  }
  return undefined
}

/**
 * Generates a match of a simple pattern: literals, classes, groups, alternatives (the first) and quantifiers (the
 * fewest).
 */
class PatternReader {
  readonly #pattern: string
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  sample(): string {
    let text = ''
    for (let unit = this.#unit(); unit !== undefined; unit = this.#unit()) text += unit.repeat(this.#least())
    return text
  }

  #unit(): string | undefined {
    const sign = this.#pattern[this.#at]
    if (sign === undefined || sign === ')') return undefined
    this.#at++
    if (sign === '^' || sign === '$') return ''
    if (sign === '|') return this.#skipAlternatives()
    if (sign === '[') return this.#class()
    if (sign === '(') return this.#group()
    if (sign === '\\') return escaped(this.#pattern[this.#at++] ?? '')
    return sign === '.' ? 'a' : sign
  }

  #skipAlternatives(): undefined {
    for (let depth = 0; this.#at < this.#pattern.length; this.#at++) {
      const sign = this.#pattern[this.#at]
      if (sign === '\\') this.#at++
      else if (sign === '(') depth++
      else if (sign === ')' && depth-- === 0) return
    }
  }

  #group(): string {
    this.#at += /^\?(?:[:=!]|<[=!]|<[^>]*>)/.exec(this.#pattern.slice(this.#at))?.[0].length ?? 0
    const text = this.sample()
    this.#at++
    return text
  }

  #class(): string {
    const end = this.#pattern.indexOf(']', this.#at + 1)
    const members = this.#pattern.slice(this.#at, end < 0 ? undefined : end)
    this.#at = end < 0 ? this.#pattern.length : end + 1
    if (members.startsWith('\\')) return escaped(members[1] ?? '')
    if (!members.startsWith('^')) return members[0] ?? ''
    const excluded = compile(`[${members}]`)
    return [...'a0-_ A'].find((sign) => excluded?.test(sign)) ?? 'a'
  }

  #least(): number {
    const quantifier = /^(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/.exec(this.#pattern.slice(this.#at))
    if (!quantifier) return 1
    this.#at += quantifier[0].length
    if (quantifier[1] !== undefined) return Math.min(Number(quantifier[1]), 1_000)
    return quantifier[0].startsWith('+') ? 1 : 0
  }
}

function escaped(sign: string): string {
  if (sign === 'd') return '1'
  if (sign === 'w') return 'a'
  if (sign === 's') return ' '
  return /[bB]/.test(sign) ? '' : sign
}
