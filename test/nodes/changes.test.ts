/** An operator who waits at one server hears of changes at another. */
import { createToken, operation } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import type { Site } from '../scenarios/server.ts'
import { startNodes, WORK as work } from './sites.ts'

interface Changes {
  events: { id: string; state: string }[]
  next: string
  reset?: true
}

describeWith(postgresServer, 'changes between servers on one Postgres', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  test('are told, and a cursor works at every server', async () => {
    const { token, hash } = createToken()
    const entry = { hash, kind: 'bearer' as const, subject: 'one', scopes: ['callplane:admin'] }
    const build = operation('v1:jobs.build', { model: 'async', run: () => 'built' })
    const options = { operations: [build], auth: { tokens: [entry] }, work }
    const [here, there] = (await startNodes(postgres, { options })) as [Site, Site]
    const headers = { Authorization: `Bearer ${token}` }
    const filter = { operation: 'v1:jobs.*', state: ['complete'] }
    const ask = async (site: Site, args: object) => {
      const { body } = await site.call('v1:callplane.changes.wait', { filter, ...args }, {}, { headers })
      return body.result as unknown as Changes
    }
    const { next } = await ask(there, { waitMs: 0 })

    const { body } = await here.call('v1:jobs.build', {}, { requestId: 'r1' }, { headers })
    let heard = await ask(there, { after: next })
    while (heard.events.length === 0) heard = await ask(there, { after: heard.next })
    const elsewhere = await ask(here, { after: heard.next, waitMs: 0 })

    expect(body.error).toBeUndefined()
    expect(heard.events).toMatchObject([{ state: 'complete' }])
    // The other server may tell the last changes again, or say that it does not know them. It misses none.
    expect(elsewhere.reset === true || elsewhere.events.every(({ id }) => id === heard.events[0]?.id)).toBe(true)
  }, 60_000)
})
