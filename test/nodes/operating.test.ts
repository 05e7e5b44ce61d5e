/** The commands for operators on a server with Postgres. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { linesIn, openDesk } from '../cli/desk.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { usePostgres } from '../engines/use-postgres.ts'
import { inPostgres } from '../scenarios/places.ts'

describeWith(postgresServer, 'operators of a server on Postgres', () => {
  const postgres = usePostgres()

  test('list, count, show, replay and dismiss calls as on SQLite', async () => {
    const desk = await openDesk({}, inPostgres(postgres))
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

  test('hostile text reaches a program unchanged, and no terminal', async () => {
    const hostile = '\u0000\u001b]0;owned\u0007\u009b31m\rall is well\nv1:fake \u202egpj.exe\u2069\u007f'
    const echo = operation('v1:shop.echo', { model: 'async', run: () => ({ [hostile]: hostile }) })
    const desk = await openDesk({ operations: [echo] }, inPostgres(postgres))
    await desk.make('ada', 'v1:shop.echo', 1)
    const [id = ''] = await desk.ids()
    const show = ['runs', 'show', id, '--result']

    const [program] = linesIn(await desk.run('auditor', show))
    const texts = [
      await desk.run('auditor', show, { tty: true }),
      await desk.run('auditor', ['runs', hostile], { tty: true }),
    ]

    expect(program?.result).toEqual({ [hostile]: hostile })
    for (const { stdout, stderr } of texts) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
      expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      expect(stdout).not.toMatch(/^v1:fake/m)
    }
  }, 60_000)
})
