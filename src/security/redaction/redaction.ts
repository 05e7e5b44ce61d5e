/**
 * Removes secrets from text and bytes by their value: every resolved secret is replaced wherever it would be written,
 * including in its encoded forms. Code that resolves a secret adds it here before using it.
 */
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import { asBytes, createSearch, formsOf, type Range, type Search } from './search.ts'
import { createByteRedactor } from './stream.ts'

export interface Redactor {
  /**
   * Removes this value from now on. Call the returned function when the value is no longer in use. It is still removed
   * for a while after that, because logs are written late. Values below 8 characters are ignored, because they would
   * match ordinary text.
   */
  add(value: string): () => void
  redact(text: string): string
  /** Redacts strings, and numbers whose text contains a secret. A key stays unless it contains one itself. */
  redactJson(value: JsonValue): JsonValue
  /** Creates a redactor for one stream of bytes. */
  redactBytes(): ByteRedactor
}

interface RedactorOptions {
  /** The number of values that may be in use at the same time. */
  maxSecrets?: number
  /** The number of values that are still removed after their last use. */
  maxReleased?: number
}

interface Known {
  forms: readonly string[]
  uses: number
}

const MARK = '[redacted]'
const MIN_LENGTH = 8
const MAX_DEPTH = 200

export function createRedactor({ maxSecrets = 1000, maxReleased = 100 }: RedactorOptions = {}): Redactor {
  const inUse = new Map<string, Known>()
  const released = new Map<string, Known>()
  let search: Search | undefined
  let stale = false

  const current = (): Search | undefined => {
    if (stale) {
      search = createSearch([...inUse.values(), ...released.values()].map(({ forms }) => forms))
      stale = false
    }
    return search
  }

  const redact = (text: string): string => {
    const now = current()
    if (!now) return text
    const bytes = asBytes(text)
    const ranges = now.find(bytes)
    if (!ranges) return text
    const clean = withoutRanges(bytes, ranges)
    return bytes === text ? clean : Buffer.from(clean, 'latin1').toString('utf8')
  }

  const release = (value: string, known: Known) => {
    known.uses--
    if (known.uses > 0) return
    inUse.delete(value)
    released.set(value, known)
    const [oldest] = released.keys()
    if (released.size > maxReleased && oldest !== undefined) {
      released.delete(oldest)
      stale = true
    }
  }

  /** Marks a value as in use. */
  const take = (value: string): Known => {
    const used = inUse.get(value)
    if (used) return used
    if (inUse.size >= maxSecrets) {
      throw new Fault('overloaded', `More than ${maxSecrets} secrets are in use at the same time. Try again later.`)
    }
    const recent = released.get(value)
    const known = recent ?? { forms: formsOf(value), uses: 0 }
    stale ||= !recent
    released.delete(value)
    inUse.set(value, known)
    return known
  }

  return {
    add(value) {
      if (value.length < MIN_LENGTH) return () => {}
      const known = take(value)
      known.uses++
      let held = true
      return () => {
        if (held) release(value, known)
        held = false
      }
    },
    redact,
    redactJson: (value) => (current() ? redactValue(value, redact, 0) : value),
    redactBytes: () => createByteRedactor(current, MARK),
  }
}

function withoutRanges(bytes: string, ranges: readonly Range[]): string {
  let clean = ''
  let at = 0
  for (const { start, end } of ranges) {
    clean += bytes.slice(at, start) + MARK
    at = end
  }
  return clean + bytes.slice(at)
}

function redactValue(value: JsonValue, redact: (text: string) => string, depth: number): JsonValue {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') {
    const text = String(value)
    return redact(text) === text ? value : MARK
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return MARK
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key), redactValue(member, redact, depth + 1)]),
  )
}
