/** The commands for operators on a server with Postgres. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { linesIn, openDesk } from '../cli/desk.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { newSchema } from './sites.ts'

describeWith(postgresServer, 'operators of a server on Postgres', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  test('list, count, show, replay and dismiss calls as on SQLite', async () => {
    const schema = newSchema()
    // Runs after the server is closed.
    onTestFinished(() => postgres.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).then(() => undefined))
    const desk = await openDesk({ store: { url: postgres.url, schema } })
    await desk.make('ada', 'v1:shop.pay', 12)
    await desk.make('bob', 'v1:shop.pay', 2)
    desk.state.broken = false

    const listed = linesIn(await desk.run('reader', ['runs', 'code:BANK_AWAY', '--limit', '5']))
    const counted = linesIn(await desk.run('reader', ['runs', '--count-by', 'owner']))
    const id = String(listed[0]?.id)
    const shown = await desk.run('auditor', ['runs', 'show', id, '--args'], { tty: true })
    const bobs = ['--filter', 'owner:callplane|bob']
    const dismiss = ['dead-letters', 'dismiss', ...bobs, '--why', 'known', '--expected', '2']
    const dismissed = await desk.run('operator', dismiss)
    const replayed = await desk.run('replayer', ['replay', '--dead-letters', '--yes', '--why', 'the bank is back'])
    const left = await desk.run('reader', ['dead-letters'])

    expect(listed).toHaveLength(5)
    expect(counted).toEqual([
      { value: 'callplane|ada', count: 12 },
      { value: 'callplane|bob', count: 2 },
    ])
    expect(shown.stdout).toContain('BANK_AWAY: The bank is away.')
    expect(shown.stdout).toMatch(/Arguments\n\{\n {2}"n": \d+\n\}\n$/)
    expect(linesIn(dismissed).map(({ done }) => done)).toEqual([true, true])
    expect(linesIn(replayed)).toHaveLength(12)
    expect(left.stdout).toBe('')
  }, 60_000)
})
