/** The server writes the audit entries of expired calls itself: in the same bytes as a node, or not at all. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeEnding, USUAL_ENDING } from '../../../src/core/call/audit-ending.ts'
import type { JsonValue } from '../../../src/core/json.ts'
import { decodeKept, type EntryRow, encodeRest, entryText } from '../../../src/stores/postgres/audit-entries.ts'
import { statement } from '../../../src/stores/postgres/connect/session.ts'
import { encodeText } from '../../../src/stores/postgres/sql/plain-text.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { openSession } from './churn.ts'

const COLUMNS = ['operation', 'request_id', 'created_at', 'args', 'fixed', 'audit', 'caller'] as const
const ONE: EntryRow = {
  id: '0198a5b0-0000-7000-8000-000000000000',
  tenant: 'main',
  owner: 'none|ada',
  request_id: 'request 1',
  operation: 'v1:orders.getItem@1.0.0',
  created_at: 1_767_225_600_000,
  ended_at: 1_767_225_600_020,
  audit: '{}',
  caller: '{"tenant":"main","issuer":"none","subject":"ada","scopes":[]}',
  args: '{}',
  fixed: null,
}

const withArgs = (args: JsonValue): Partial<EntryRow> => ({ args: JSON.stringify(args) })
const audited = (ending: object) => encodeEnding({ ...USUAL_ENDING, ...ending })

describeWith(postgresServer, 'audit entries that the server makes', () => {
  let server: Postgres
  let session: Awaited<ReturnType<typeof openSession>>

  beforeAll(async () => {
    server = await startPostgres()
    session = await openSession(server)
  }, 60_000)
  afterAll(async () => {
    await session.close()
    await server[Symbol.asyncDispose]()
  })

  const makeAll = async (rows: readonly EntryRow[]): Promise<(string | null)[]> => {
    const types = COLUMNS.map((name, at) => `$${at + 1}::${name === 'created_at' ? 'bigint' : 'text'}[]`)
    const { rows: made } = await session.query<{ entry: string | null }>(
      statement(`SELECT ${entryText()} AS entry FROM unnest(${types.join(', ')}) WITH ORDINALITY AS c (${COLUMNS.join(', ')}, at)
        CROSS JOIN LATERAL (SELECT c.caller) AS k ORDER BY c.at`),
      COLUMNS.map((name) => rows.map((row) => row[name])),
    )
    return made.map(({ entry }) => entry)
  }

  test.for<[string, Partial<EntryRow>]>([
    ['without arguments', {}],
    ['with sorted arguments', withArgs({ a: 1, b: 'two', c: null })],
    ['with unsorted arguments', withArgs({ b: 1.5e300, a: -0.25, B: true, '10': 1, '9': 2 })],
    ['with nested arguments', withArgs({ z: [{ b: 1, a: [] }, 'x,y', []], a: { y: {}, x: { d: 1, c: 2 } } })],
    ['with a list as arguments', withArgs([3, { b: 1, a: 2 }, 'a,b', null])],
    ['with a text as arguments', withArgs('a, "b" \\ {c}')],
    ['with names in other scripts', withArgs({ ß: 1, z: 2, 中: 3, 'a"b\n': 4, '': 5, '\u{fffd}': 6 })],
    ['of a user', { caller: '{"tenant":"main","subject":"app","userId":"grace \\"g\\""}' }],
    ['of a request id with quotes', { request_id: 'a"b\\c\td\u007f\u2028é' }],
    ['that failed', { audit: audited({ outcome: 'internal', code: 'BROKEN', attempts: 3 }) }],
    [
      'that a rule denied',
      { audit: audited({ verdict: 'deny', rule: 'r "1"', approvalId: 'a1', outcome: 'forbidden' }) },
    ],
    ['of an operator', { audit: audited({ backend: 'own', about: { call: 'c1', searched: true, why: 'x, "y"' } }) }],
    ['that gave up its request id', { audit: '{"attempts":2,"requestId":"first"}', request_id: 'yielded:1' }],
    ['with the hash of its request', { fixed: '{"model":"sync","fingerprint":"f1","locale":"en"}' }],
    ['with other fixed fields', { fixed: '{"model":"sync","idempotencyKey":"fingerprint"}' }],
  ])('an entry of a call %s has the bytes of a node', async ([, more]) => {
    const row = { ...ONE, ...more }

    expect(await makeAll([row])).toEqual([encodeRest(decodeKept(row))])
  })

  test.for<[string, Partial<EntryRow>]>([
    ['with attachments', { fixed: '{"media":[{"name":"a","source":{"kind":"ref","uri":"https://a.example"}}]}' }],
    ['with U+0000 in its arguments', withArgs({ b: '\0', a: 1 })],
    ['with half of a character in its arguments', withArgs({ '\ud800': 1, a: 1 })],
    ['with characters that are sorted in another order', withArgs({ '\u{1f600}': 1, '\uffff': 2 })],
    ['with very long arguments', withArgs({ b: 'x'.repeat(5000), a: 1 })],
    ['with deeply nested arguments', withArgs({ a: { b: { c: { e: 1, d: 2 } } } })],
    ['with U+0000 in its request id', { request_id: encodeText('a\0b') }],
    ['with fields of a newer version', { audit: '{"newer":1}' }],
    ['with U+0000 in its caller', { caller: JSON.stringify({ tenant: 'main', subject: '\0' }) }],
  ])('the entry of a call %s is left to the node', async ([, more]) => {
    expect(await makeAll([{ ...ONE, ...more }])).toEqual([null])
  })

  test('entries of any arguments have the bytes of a node, or are left to it', async () => {
    const values = fc.array(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), { minLength: 20, maxLength: 20 })
    let made = 0
    await fc.assert(
      fc.asyncProperty(values, async (all) => {
        const rows = all.map((args) => ({ ...ONE, ...withArgs(args as JsonValue) }))
        const entries = await makeAll(rows)
        entries.forEach((entry, at) => {
          if (entry !== null) expect(entry).toBe(encodeRest(decodeKept(rows[at] as EntryRow)))
          if (entry !== null) made++
        })
      }),
      { numRuns: 30, endOnFailure: true },
    )
    expect(made).toBeGreaterThan(100)
  }, 60_000)
})
