import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRedactor } from '../../src/governance/redaction.ts'

const SECRET = 's3cr3t/"pä ss+w\\rd"\n?'

describe('a secret', () => {
  const forms: [string, string][] = [
    ['as it is', SECRET],
    ['in JSON', JSON.stringify({ password: SECRET })],
    ['in JSON in JSON', JSON.stringify({ body: JSON.stringify({ password: SECRET }) })],
    ['in a URL', `https://x.example/?q=${encodeURIComponent(SECRET)}`],
    ['in a form', new URLSearchParams({ q: SECRET }).toString()],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in URL-safe base64', Buffer.from(SECRET).toString('base64url')],
    ['in Basic authentication', `Basic ${Buffer.from(`me:${SECRET}`).toString('base64')}`],
    ['in Basic authentication, one byte on', `Basic ${Buffer.from(`you:${SECRET}`).toString('base64')}`],
    ['in Basic authentication, two bytes on', `Basic ${Buffer.from(`them:${SECRET}x`).toString('base64')}`],
  ]
  test.each(forms)('is taken out of text: %s', (_form, text) => {
    const redactor = createRedactor()
    redactor.add(SECRET)

    const redacted = redactor.redact(`before ${text} after`)

    expect(redacted).toMatch(/^before .*\[redacted\].* after$/s)
    expect(redacted).not.toContain('s3cr3t')
    expect(redacted).not.toContain(Buffer.from(SECRET).toString('base64').slice(4, 16))
  })

  test('that contains another is taken out whole', () => {
    const redactor = createRedactor()
    redactor.add('password')
    redactor.add('password-of-production')
    expect(redactor.redact('password-of-production, password')).toBe('[redacted], [redacted]')
  })

  test('below 8 characters is left alone, because it would match ordinary words', () => {
    const redactor = createRedactor()
    redactor.add('orders')
    expect(redactor.redact('no orders today')).toBe('no orders today')
  })

  test('is taken out of data: values, numbers, and keys that hold it; the rest stays', () => {
    const redactor = createRedactor()
    redactor.add('hunter2hunter2')
    redactor.add('12345678')
    expect(
      redactor.redactJson({ password: 'x hunter2hunter2 y', list: [1, 12345678, null, true], hunter2hunter2: 'key' }),
    ).toEqual({ password: 'x [redacted] y', list: [1, '[redacted]', null, true], '[redacted]': 'key' })
  })

  test('used by two calls stays known until both are done, and for a while after', () => {
    const redactor = createRedactor({ maxSecrets: 2, maxReleased: 1 })
    const first = redactor.add('first-secret')
    const again = redactor.add('first-secret')
    first()
    first()
    redactor.add('other-secret')()
    expect(redactor.redact('first-secret other-secret')).toBe('[redacted] [redacted]')

    again()
    expect(redactor.redact('first-secret other-secret')).toBe('[redacted] other-secret')
  })

  test('is never dropped to make room: past the bound a new one is refused', () => {
    const redactor = createRedactor({ maxSecrets: 1 })
    redactor.add('first-secret')
    expect(() => redactor.add('second-secret')).toThrow(expect.objectContaining({ kind: 'overloaded' }))
    expect(redactor.redact('first-secret')).toBe('[redacted]')
  })

  test('whatever its characters, appears in no encoded text', () => {
    const secret = fc.string({ unit: 'binary', minLength: 8, maxLength: 40 })
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
        const redactor = createRedactor()
        redactor.add(value)
        for (const encode of [String, JSON.stringify, encodeURIComponent]) {
          const redacted = redactor.redact(encode(before + value + after))
          expect(redacted.includes('[redacted]') && !redacted.includes(encode(value))).toBe(true)
        }
      }),
      { numRuns: 50 },
    )
  })
})
