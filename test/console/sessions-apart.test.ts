/** Sessions at two nodes that hear nothing of each other: the store alone tells them. */
import { hash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import { ConsoleSessions } from '../../src/server/console/sessions.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { temporaryFolder } from '../scenarios/server.ts'

const ADA = { tenant: 'main', issuer: 'callplane', subject: 'ada', scopes: [] }

test('a session that another node has ended is refused after five seconds', async () => {
  const clock = createManualClock()
  const store = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock })
  onTestFinished(() => store.close())
  const env = {
    clock,
    log: createMemoryLog([]),
    digest: (text: string) => hash('sha256', text, 'hex'),
    newSecret: () => randomBytes(32).toString('base64url'),
  }
  const parts = { records: store.records, env, readOnly: false, isTokenValid: () => true }
  const [here, there] = [new ConsoleSessions(parts), new ConsoleSessions(parts)]
  const { session } = await here.create({ caller: ADA })
  const header = (name: string) => (name === 'authorization' ? `Bearer ${session}` : undefined)
  const seen = async (sessions: ConsoleSessions) => {
    try {
      return (await sessions.recognize(header))?.subject
    } catch (thrown) {
      return (thrown as Fault).kind
    }
  }
  expect([await seen(here), await seen(there)]).toEqual(['ada', 'ada'])

  await here.end(header)
  const atOnce = [await seen(here), await seen(there)]
  clock.advance(5_000)

  expect(atOnce).toEqual(['unauthenticated', 'ada'])
  expect([await seen(here), await seen(there)]).toEqual(['unauthenticated', 'unauthenticated'])
})
