/**
 * Takes secrets out of text by their value: whatever a secret resolved to is replaced wherever it would be written,
 * also in the forms that encodings give it. Who resolves a secret adds it here before using it.
 */
import { Fault } from '../core/fault.ts'
import type { JsonValue } from '../core/json.ts'

export interface Redactor {
  /**
   * From now on this value is removed. The returned function says that it is no longer in use; it is then still
   * removed for a while, because logs are written late. Values below 8 characters are not taken: they would match
   * ordinary text.
   */
  add(value: string): () => void
  redact(text: string): string
  /** Strings, and numbers whose text holds a secret. A key stays unless it holds one itself. */
  redactJson(value: JsonValue): JsonValue
}

interface RedactorOptions {
  /** How many values may be in use at a time. */
  maxSecrets?: number
  /** How many values that are no longer in use are still removed. */
  maxReleased?: number
}

const MARK = '[redacted]'
const MIN_LENGTH = 8
const MAX_DEPTH = 200

export function createRedactor({ maxSecrets = 1000, maxReleased = 100 }: RedactorOptions = {}): Redactor {
  const inUse = new Map<string, number>()
  const released = new Set<string>()
  let pattern: RegExp | undefined
  let stale = false

  const compiled = (): RegExp | undefined => {
    if (stale) {
      pattern = compile([...inUse.keys(), ...released])
      stale = false
    }
    return pattern
  }

  const release = (value: string) => {
    const uses = inUse.get(value) ?? 0
    if (uses > 1) {
      inUse.set(value, uses - 1)
      return
    }
    inUse.delete(value)
    released.add(value)
    const [oldest] = released
    if (released.size > maxReleased && oldest !== undefined) {
      released.delete(oldest)
      stale = true
    }
  }

  return {
    add(value) {
      if (value.length < MIN_LENGTH) return () => {}
      if (!inUse.has(value) && inUse.size >= maxSecrets) {
        throw new Fault('overloaded', `More than ${maxSecrets} secrets are in use at a time. Try again later.`)
      }
      stale ||= !inUse.has(value) && !released.has(value)
      released.delete(value)
      inUse.set(value, (inUse.get(value) ?? 0) + 1)
      let held = true
      return () => {
        if (held) release(value)
        held = false
      }
    },
    redact(text) {
      const secrets = compiled()
      return secrets ? text.replace(secrets, MARK) : text
    },
    redactJson(value) {
      const secrets = compiled()
      return secrets ? redactValue(value, (text) => text.replace(secrets, MARK), 0) : value
    },
  }
}

/** One pattern for all, the longest form first, so that a secret inside another does not leave half of it behind. */
function compile(values: readonly string[]): RegExp | undefined {
  const forms = [...new Set(values.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  return forms.length > 0 ? new RegExp(forms.map(quote).join('|'), 'g') : undefined
}

function quote(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function formsOf(value: string): string[] {
  const json = escapeJson(value)
  const url = encodeURIComponent(value.toWellFormed())
  const form = new URLSearchParams({ v: value }).toString().slice(2)
  return [
    value,
    json,
    // JSON in a JSON string: a body that was logged as text.
    escapeJson(json),
    url,
    form,
    ...[url, form].map((text) => text.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())),
    ...base64Forms(value),
  ]
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/**
 * The whole value in base64, and what of it shows when it stands behind other bytes, as a password does in Basic
 * authentication: at each of the three alignments the digits that depend on the value alone.
 */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8')
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
