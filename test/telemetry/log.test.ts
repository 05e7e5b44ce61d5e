import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { createToken } from '../../src/security/identity/identify.ts'
import { createRedactor } from '../../src/security/redaction/redaction.ts'
import { createLog, type LogOptions, quoteText } from '../../src/telemetry/index.ts'
import { LINES, type LineLog } from '../../src/telemetry/logs/lines.ts'
import { growth, PROPORTIONAL, textOf } from '../growth.ts'

function logTo(options: LogOptions = {}) {
  const lines: string[] = []
  const log = createLog({ destination: { write: (line) => lines.push(line) }, ...options })
  return { log, text: () => lines.join(''), entries: () => lines.map((line) => JSON.parse(line)) }
}

test('a line is one JSON object with level, time, fields and sentence', () => {
  const { log, entries, text } = logTo()
  log.info({ requestId: 'r1' }, 'call ended')
  log.debug({}, 'too fine for this level')
  expect(entries()).toEqual([
    { level: 'info', time: expect.stringMatching(/^\d{4}-.*Z$/), requestId: 'r1', msg: 'call ended' },
  ])
  expect(text()).toMatch(/^[^\n]+\n$/)
})

describe('secrets', () => {
  test('known by value are in no line, wherever they stood', () => {
    const redactor = createRedactor()
    const secret = 'p"ss\\word-of-db'
    redactor.add(secret)
    const { log, text, entries } = logTo({ redactor })

    log.error(
      { err: new Fault('upstream', 'x', { cause: new Error(`connect ${secret}`) }), deep: { [secret]: [secret] } },
      `failed: ${JSON.stringify({ secret })}`,
    )

    expect(text()).not.toContain('word-of-db')
    expect(entries()[0]).toMatchObject({
      msg: 'failed: {"secret":"[redacted]"}',
      deep: { '[redacted]': ['[redacted]'] },
    })
  })

  test('are taken out before a long text is cut: no part of one is left at the cut', () => {
    const redactor = createRedactor()
    const secret = 'correct-horse-battery-staple'
    redactor.add(secret)
    for (let before = 8_192 - secret.length - 3; before <= 8_192; before++) {
      const { log, text } = logTo({ redactor })
      const long = `${'x'.repeat(before)}${secret}${'y'.repeat(100)}`
      const err = new Error(long, { cause: new AggregateError([new Error(long)], long) })
      log.error({ err, cause: long, field: long }, 'failed')
      ;(log as LineLog)[LINES]('request')(`,"path":${quoteText(long)}`)
      expect(text()).not.toContain('correct')
      expect(text()).not.toContain('orse-')
    }
  })

  test('made of digits do not break the line they stood in', () => {
    const redactor = createRedactor()
    redactor.add('20260501')
    const { log, entries } = logTo({ redactor })
    log.info({ size: 120260501 }, 'number')
    expect(entries()[0]).toMatchObject({ size: '[redacted]', msg: 'number' })
  })

  // opencall:045, opencall:046: the log's part of it.
  test('that callers send are recognised by where they stand and how they look', () => {
    const { token } = createToken()
    const jwt = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"ada"}').toString('base64url')}.${randomBytes(32).toString('base64url')}`
    const opaque = randomBytes(16).toString('hex')
    const { log, text, entries } = logTo()

    log.warn({ headers: { authorization: `Digest "${opaque}"`, 'x-api-key': opaque } }, `tried ${token}, then ${jwt}`)
    log.warn({ auth: { iss: 'me', credential: opaque } }, `sent Bearer ${opaque}`)

    for (const secret of [token, jwt, opaque]) expect(text()).not.toContain(secret)
    expect(entries()).toMatchObject([
      { headers: { authorization: '[redacted]' }, msg: 'tried [redacted], then [redacted]' },
      { auth: { iss: 'me', credential: '[redacted]' }, msg: 'sent Bearer [redacted]' },
    ])
  })
})

test('a token behind a line break or a hyphen is found, and the line stays whole', () => {
  const jwt = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"ada"}').toString('base64url')}.c2lnbmF0dXJl`
  const { log, text, entries } = logTo()

  log.warn({ note: `first\n${jwt}`, path: `/x-${jwt}` }, `C:\\${jwt}`)

  expect(text()).not.toContain('c2lnbmF0dXJl')
  expect(entries()[0]).toMatchObject({ note: 'first\n[redacted]', path: '/[redacted]', msg: 'C:\\[redacted]' })
})

test.each([
  ['the beginnings of JWTs', 'eyJ-'],
  ['JWTs cut short', 'eyJhbGciOiJI.eyJ-'],
  ['credentials', 'cp_Bearer Basic '],
  ['quotes', '"password":"\\'],
])('a text made of %s takes time in proportion to its length', (_, piece) => {
  const { log } = logTo()
  const write = (length: number) => log.warn({ deep: { path: textOf(piece, length) } }, 'x')

  expect(growth(write, 16 * 1024)).toBeLessThan(PROPORTIONAL)
})

test('a text as long as a caller likes is cut before it is looked through', () => {
  const { log, text } = logTo()
  const long = 'x'.repeat(1024 * 1024)

  log.error({ path: long, err: new Error(long, { cause: long }) }, 'failed')

  expect(text().length).toBeLessThan(64 * 1024)
})

test('an error shows its causes, and none of what libraries hang on errors', () => {
  const { log, entries, text } = logTo()
  const cause = Object.assign(new Error('socket closed'), { code: 'ECONNRESET', request: { header: 'private' } })
  const loop = new Error('loop')
  loop.cause = loop

  log.error({ err: new Fault('upstream', 'The shop did not answer.', { cause }) }, 'failed')
  log.error({ err: loop }, 'goes round')

  expect(entries()[0].err).toMatchObject({
    type: 'Fault',
    kind: 'upstream',
    message: 'The shop did not answer.',
    stack: expect.stringContaining('log.test.ts'),
    cause: { message: 'socket closed', code: 'ECONNRESET' },
  })
  expect(text()).not.toContain('private')
})
