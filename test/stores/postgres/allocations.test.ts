/** What a durable call leaves in memory on Postgres. test/performance has the same for SQLite. */
import { expect, test } from 'vitest'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { startPostgres } from '../../engines/postgres.ts'
import { countBytes, MOST_LEFT } from '../../performance/count-bytes.ts'

describeWith(postgresServer, 'calls on Postgres', () => {
  test('nearly nothing of a call outlives it', { timeout: 60_000 }, async () => {
    await using server = await startPostgres()

    const { left } = await countBytes({ store: server.url })

    expect(left.durable).toBeLessThan(MOST_LEFT)
  })
})
