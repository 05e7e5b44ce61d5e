/** Filters and cursors of every form are answered with a page or a refusal, never with a failure of the server. */
import { describe, expect, test } from 'vitest'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { usePostgres } from '../../engines/use-postgres.ts'
import { inPostgres, inSqlite, type NewPlace } from '../places.ts'
import { openWorks } from './operators.ts'

const STRANGE = [
  'a\u0000b',
  '\u0000',
  '\ud800',
  '%',
  '_'.repeat(100),
  '*',
  `v1:${'*'.repeat(100)}`,
  "' OR 1=1 --",
  '../../x',
  '\u{10ffff}',
  '9'.repeat(200),
  '~'.repeat(200),
]

const LISTS: Readonly<Record<string, readonly string[]>> = {
  'v1:callplane.calls.list': ['operation', 'owner', 'code', 'sessionId', 'parent', 'key', 'text', 'after'],
  'v1:callplane.calls.count': ['operation', 'owner', 'code', 'sessionId', 'parent', 'key', 'text'],
  'v1:callplane.deadletters.list': ['operation', 'owner', 'code', 'after'],
  'v1:callplane.audit.list': ['operation', 'owner', 'code', 'rule', 'requestId', 'after'],
  'v1:callplane.approvals.list': ['after'],
  'v1:callplane.changes.wait': ['after'],
  'v1:callplane.calls.get': ['id'],
}

function describeStrange(newPlace: () => NewPlace): void {
  test.each(Object.entries(LISTS))('%s', { timeout: 60_000 }, async (op, fields) => {
    const works = await openWorks({}, newPlace())
    await works.make('ada', 'v1:shop.refuse', 1)
    const failed: string[] = []
    for (const field of fields) {
      for (const value of STRANGE) {
        const args = { [field]: value, ...(op.endsWith('.wait') && { waitMs: 0 }) }
        // Its tenant has no call, so a call that it finds is not its own.
        const { status, body } = await works.as('stranger', op, args)
        const found = JSON.stringify(body).includes('v1:shop.refuse')
        if (status >= 500 || found) failed.push(`${field} ${JSON.stringify(value)} ${status} ${body.error?.code}`)
      }
    }

    expect(failed).toEqual([])
  })
}

describe('on SQLite', () => describeStrange(() => inSqlite))

describeWith(postgresServer, 'on Postgres', () => {
  const postgres = usePostgres()
  describeStrange(() => inPostgres(postgres))
})
