import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRedactor, type Redactor } from '../../src/security/redaction/redaction.ts'

const SECRET = 's3cr3t/"pä ss+w\\rd"\n?'

function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

function unicodeEscaped(text: string): string {
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

function htmlEscaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;').replaceAll('/', '&#x2F;')
}

describe('a secret', () => {
  const forms: [string, string][] = [
    ['as it is', SECRET],
    ['in JSON', JSON.stringify({ password: SECRET })],
    ['in JSON in JSON', JSON.stringify({ body: JSON.stringify({ password: SECRET }) })],
    ['in a URL', `https://x.example/?q=${encodeURIComponent(SECRET)}`],
    ['in a form', new URLSearchParams({ q: SECRET }).toString()],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in URL-safe base64', Buffer.from(SECRET).toString('base64url')],
    ['in a URL with every character encoded', `https://x.example/?q=${percentEncoded(SECRET)}`],
    ['in a URL with every character encoded, in lower case', percentEncoded(SECRET).toLowerCase()],
    ['in a URL in a URL', `https://x.example/?to=${encodeURIComponent(`/?q=${encodeURIComponent(SECRET)}`)}`],
    ['in JSON with every character escaped', `{"password":"${unicodeEscaped(SECRET)}"}`],
    ['in JSON of a library that escapes slashes', JSON.stringify(SECRET).replaceAll('/', '\\/')],
    ['in JSON in JSON in a log line', JSON.stringify(JSON.stringify(JSON.stringify({ password: SECRET })))],
    ['in an HTML page', `<b title="${htmlEscaped(SECRET)}">`],
    ['in hex', Buffer.from(SECRET).toString('hex')],
    ['in hex with capitals', Buffer.from(SECRET).toString('hex').toUpperCase()],
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

  test('is removed from data: from values, numbers, and keys that contain it; other data is kept', () => {
    const redactor = createRedactor()
    redactor.add('hunter2hunter2')
    redactor.add('12345678')
    expect(
      redactor.redactJson({ password: 'x hunter2hunter2 y', list: [1, 12345678, null, true], hunter2hunter2: 'key' }),
    ).toEqual({ password: 'x [redacted] y', list: [1, '[redacted]', null, true], '[redacted]': 'key' })
  })

  test.each(['secret!with*signs', "it's(a)secret~_", 'pass word+and=more', '100%25 of secrets', '%%%%%%%%%%%%'])(
    'is taken out of URLs however much of it is encoded: %s',
    (secret) => {
      const redactor = createRedactor()
      redactor.add(secret)
      const strict = encodeURIComponent(secret).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
      const plus = new URLSearchParams({ v: secret }).toString().slice(2)
      for (const form of [secret, encodeURIComponent(secret), strict, strict.toLowerCase(), plus, encodeURI(secret)]) {
        expect(redactor.redact(`?a=1&k=${form}&b=2`)).toBe('?a=1&k=[redacted]&b=2')
      }
    },
  )

  test('that begins inside another is taken out whole', () => {
    const redactor = createRedactor()
    redactor.add('first-half')
    redactor.add('half-and-more')
    expect(redactor.redact('a first-half-and-more b')).toBe('a [redacted] b')
  })

  test('of 64 KiB is taken out, and so is the greater part of it', () => {
    const redactor = createRedactor()
    const secret = randomBytes(48 * 1024).toString('base64')
    redactor.add(secret)
    expect(redactor.redact(`a ${secret} b ${secret.slice(0, 60_000)} c`)).toBe('a [redacted] b [redacted] c')
    expect(redactor.redact(`a ${Buffer.from(secret).toString('hex')} b`)).toBe('a [redacted] b')
  })

  test('leaves the text around it unchanged', () => {
    const redactor = createRedactor()
    redactor.add('hunter2hunter2')
    const around = 'zwölf \u{1f600} %41 \\u0041 &amp; +'
    expect(redactor.redact(`${around}hunter2hunter2${around}`)).toBe(`${around}[redacted]${around}`)
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

  test('with any characters, appears in no encoded text', () => {
    const secret = fc.string({ unit: 'binary', minLength: 8, maxLength: 40 })
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
        const redactor = createRedactor()
        redactor.add(value)
        for (const encode of [String, JSON.stringify, encodeURIComponent, percentEncoded, unicodeEscaped]) {
          const redacted = redactor.redact(encode(before + value + after))
          expect(redacted.includes('[redacted]') && !redacted.includes(encode(value))).toBe(true)
        }
      }),
      { numRuns: 50 },
    )
  })
})

describe('bytes that come piece by piece', () => {
  /** As the redactor lets them out, cut into pieces of so many bytes. */
  function passed(redactor: Redactor, bytes: Uint8Array, size: number): Buffer {
    const stream = redactor.redactBytes()
    const out: Uint8Array[] = []
    for (let at = 0; at < bytes.length; at += size) out.push(stream.push(bytes.subarray(at, at + size)))
    return Buffer.concat([...out, stream.end()])
  }

  test.each([1, 2, 3, 7, 64, 1000, 100_000])('lose a secret wherever it is cut: pieces of %i bytes', (size) => {
    const redactor = createRedactor()
    redactor.add(SECRET)
    const forms = [SECRET, JSON.stringify(SECRET), encodeURIComponent(SECRET), percentEncoded(SECRET)]
    const text = `${'before ä \u{1f600} '.repeat(40)}${forms.join(' and ')}${SECRET}${SECRET}${' after'.repeat(300)}`

    expect(passed(redactor, Buffer.from(text), size).toString()).toBe(redactor.redact(text))
  })

  test('are unchanged if they contain no secret', () => {
    const redactor = createRedactor()
    redactor.add(SECRET)
    const bytes = randomBytes(200_000)
    for (const size of [1, 1000, 65_536, 200_000]) expect(passed(redactor, bytes, size).equals(bytes)).toBe(true)
  })

  test('pass untouched and at once while no secret is known, and are searched from then on', () => {
    const redactor = createRedactor()
    const stream = redactor.redactBytes()
    const first = Buffer.from('nothing yet ')
    expect(stream.push(first)).toBe(first)

    redactor.add('hunter2hunter2')
    const rest = [stream.push(Buffer.from('hunter2hu')), stream.push(Buffer.from('nter2 done')), stream.end()]

    expect(Buffer.concat(rest).toString()).toBe('[redacted] done')
  })

  test('cut anywhere come out as the whole does', () => {
    const alphabet = fc.constantFrom(
      'a',
      'b',
      'ab',
      '%61',
      '%2561',
      '\\u0061',
      '\\',
      '\\\\',
      '&amp;',
      'ä',
      '+',
      ' ',
      '\n',
    )
    const text = fc.array(alphabet, { maxLength: 400 }).map((parts) => parts.join(''))
    const secret = fc.constantFrom('abababab', 'aaaaaaaa', 'a b a b a', '\\a\\a\\a\\a', 'ab\nab\nab\n')
    fc.assert(
      fc.property(
        text,
        fc.uniqueArray(secret, { minLength: 1 }),
        fc.integer({ min: 1, max: 300 }),
        (said, known, size) => {
          const redactor = createRedactor()
          for (const value of known) redactor.add(value)
          expect(passed(redactor, Buffer.from(said), size).toString()).toBe(redactor.redact(said))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('that nearly repeat a long secret take time in proportion to their length', () => {
    const redactor = createRedactor()
    redactor.add(`${'a'.repeat(60_000)}b`)
    const clean = passed(redactor, Buffer.alloc(2_000_000, 'a'), 65_536)
    expect(clean.length).toBeLessThan(1000)
  })
})
