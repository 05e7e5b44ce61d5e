/** Lines assembled as text have the same bytes as the logger's own output for the same fields. */
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { Outcome } from '../../src/core/call/instance.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { Execution } from '../../src/core/ports/observer.ts'
import type { Log } from '../../src/core/ports/runtime.ts'
import { contractWords } from '../../src/protocols/contract/index.ts'
import { createToken } from '../../src/security/identity/identify.ts'
import { createRedactor } from '../../src/security/redaction/redaction.ts'
import { createRequestLog, logRequests } from '../../src/server/mount/request-log.ts'
import { createExecutionLog, createLog } from '../../src/telemetry/index.ts'
import { createTimeText } from '../../src/telemetry/logs/time-text.ts'

const SECRET = 'p"ss\\word-of-db'
const JWT = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"ada"}').toString('base64url')}.${randomBytes(32).toString('base64url')}`
const { token: TOKEN } = createToken()
const NAUGHTY = [
  SECRET,
  JWT,
  TOKEN,
  `Bearer ${TOKEN}`,
  'Basic YWRhOnNlY3JldA==',
  'password',
  '"',
  '\\',
  '\n',
  ' ',
  '😀',
]

/** Text from callers: any characters, sometimes with a credential inside. */
const text = fc
  .array(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constantFrom(...NAUGHTY, 'x'.repeat(9000))), {
    maxLength: 4,
  })
  .map((pieces) => pieces.join(','))
const maybe = fc.option(text, { nil: undefined })
const moment = fc.integer({ min: 0, max: 4_102_444_800_000 })

const execution: fc.Arbitrary<Execution> = fc
  .record({
    entry: fc.record({
      id: fc.uuid(),
      tenant: text,
      owner: text,
      requestId: text,
      operation: fc.constant('v1:ping@1.0.0'),
      fingerprint: fc.constant('f'.repeat(64)),
      verdict: fc.constantFrom('allow' as const, 'deny' as const, 'hold' as const),
      rule: maybe,
      approvalId: maybe,
      backend: fc.constant('handler'),
      attempts: fc.nat(5),
      outcome: fc.constant('complete'),
      startedAt: moment,
      endedAt: moment,
    }),
    message: maybe,
    traceparent: fc.constantFrom(undefined, 'none', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`),
  })
  .map(({ entry, message, traceparent }) => {
    const fault = { kind: 'upstream' as const, code: 'SHOP', message: message ?? '', retryable: true }
    const outcome: Outcome = message === undefined ? { kind: 'result', value: 1 } : { kind: 'fault', fault }
    return { entry, outcome, traceparent } as Execution
  })

/** The line that `say` writes as text, and the line that the log writes from the same fields. */
function bothWays(say: (log: Log) => void): { asText: string; asFields: string } {
  const redactor = createRedactor()
  redactor.add(SECRET)
  const write = (lines: string[]) => {
    const log = createLog({ redactor, destination: { write: (line) => lines.push(line) } })
    return log.child({ worker: 3, note: `by ${TOKEN}` })
  }
  const [asText, asFields]: [string[], string[]] = [[], []]
  const plain = write(asFields)
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  try {
    say(write(asText))
    say({ info: (fields: object, message: string) => plain.info(fields, message) } as Log)
  } finally {
    vi.useRealTimers()
  }
  return { asText: asText.join(''), asFields: asFields.join('') }
}

function expectClean(line: string): void {
  for (const secret of [JSON.stringify(SECRET).slice(1, -1), JWT, TOKEN, 'YWRhOnNlY3JldA']) {
    expect(line).not.toContain(secret)
  }
  expect(line).toMatch(/^\{[^\n]*\}\n$/)
}

test('an execution', () => {
  const operation = {
    key: 'v1:ping@1.0.0',
    backend: { kind: 'handler' },
    auth: { profile: 'bearer', secretRef: 'shop-key' },
  } as unknown as Operation
  fc.assert(
    fc.property(execution, (done) => {
      const { asText, asFields } = bothWays((log) =>
        createExecutionLog({ log, words: contractWords }).executed?.(operation, done),
      )

      expect(asText).toBe(asFields)
      expectClean(asText)
    }),
  )
})

test('a request', () => {
  const asked = fc.record({ method: text, url: text, status: fc.nat(599), finished: fc.boolean() })
  fc.assert(
    fc.property(asked, ({ method, url, status, finished }) => {
      const { asText, asFields } = bothWays((log) => {
        const response = Object.assign(new EventEmitter(), { statusCode: status, writableFinished: finished })
        const listener = logRequests(() => {}, createRequestLog(log))
        listener({ method, url } as IncomingMessage, response as unknown as ServerResponse)
        response.emit('close')
      })

      expect(asText).toBe(asFields)
      expectClean(asText)
      expect(JSON.parse(asText)).toMatchObject({ worker: 3, note: 'by [redacted]', status })
    }),
  )
})

test('each of several requests in a row writes the same line as it would alone', () => {
  const said = fc.record({
    method: fc.constantFrom('GET', 'POST'),
    url: fc.constantFrom('/call', '/call?token=1', `/call?${TOKEN}`, `/${TOKEN}`, `/${SECRET}`, '/"', '/ü', '/cal'),
    statusCode: fc.constantFrom(200, 404),
    writableFinished: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(said, { maxLength: 8 }), (requests) => {
      const linesOf = (listenerFor: (log: Log) => () => ReturnType<typeof logRequests>) =>
        bothWays((log) => {
          const listener = listenerFor(log)
          for (const { method, url, ...ended } of requests) {
            const response = Object.assign(new EventEmitter(), ended)
            listener()({ method, url } as IncomingMessage, response as unknown as ServerResponse)
            response.emit('close')
          }
        }).asText.replaceAll(/"time":"[^"]+"/g, '')

      const inARow = linesOf((log) => {
        const one = logRequests(() => {}, createRequestLog(log))
        return () => one
      })
      const alone = linesOf((log) => () => logRequests(() => {}, createRequestLog(log)))

      expect(inARow).toBe(alone)
    }),
  )
})

test('a time has the same text as from Date, after any earlier times', () => {
  const timeText = createTimeText()
  const near = fc.tuple(moment, fc.array(fc.integer({ min: -2000, max: 2000 }), { maxLength: 5 }))
  fc.assert(
    fc.property(near, ([first, steps]) => {
      for (const at of [first, ...steps.map((step) => first + step)]) {
        expect(timeText(at)).toBe(new Date(at).toISOString())
      }
    }),
  )
})
