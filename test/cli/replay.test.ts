/** An operator runs ended calls again from the command line, one or many, and deals with dead letters. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { confirm } from '../../src/cli/terminal/confirm.ts'
import { linesIn, openDesk } from './desk.ts'

test('a call runs again as its owner, or with other arguments as the replayer', async () => {
  const desk = await openDesk()
  await desk.make('ada', 'v1:shop.pay', 1)
  const [id = ''] = await desk.ids()
  desk.state.broken = false
  const file = join(desk.data, 'args.json')
  await writeFile(file, '{"n":7}')

  const [first] = linesIn(await desk.run('replayer', ['replay', id, '--why', 'the bank is back']))
  const other = await desk.run('replayer', ['replay', id, '--args', `@${file}`, '--why', 'seven'], { tty: true })
  const refused = await desk.run('replayer', ['replay', id, '--args', '{}', '--as', 'owner', '--why', 'x'])

  expect(first).toEqual({ from: id, id: expect.any(String), requestId: first?.id })
  expect((await desk.endedOf('ada', String(first?.id))).body.state).toBe('complete')
  expect(other.stdout).toMatch(new RegExp(`^1 call started again:\nFROM +NEW CALL\n${id}  [\\da-f-]{36}\n$`))
  await desk.endedOf('replayer', /[\da-f-]{36}\n$/.exec(other.stdout)?.[0].trim() ?? '')
  expect(desk.runs).toContainEqual({ by: 'replayer', args: { n: 7 } })
  expect(refused.code).toBe(1)
  expect(linesIn(refused)).toMatchObject([{ from: id, code: 'EDITED_FOR_OTHER' }])
})

test('without a terminal a filter needs the number of its calls, and acts on none if it is another', {
  timeout: 60_000,
}, async () => {
  const desk = await openDesk({ limits: { openCallsPerCaller: 1_000, queuedCalls: 1_000 } })
  await desk.make('ada', 'v1:shop.pay', 205)
  await desk.make('ada', 'v1:shop.refuse', 1)
  const ids = await desk.ids('main', { operation: 'v1:shop.pay' })
  desk.state.broken = false
  const replay = ['replay', '--dead-letters', '--why', 'the bank is back']

  const unsure = await desk.run('replayer', replay)
  const wrong = await desk.run('replayer', [...replay, '--filter', 'code:BANK_AWAY', '--expected', '204'])
  const started = await desk.run('replayer', [...replay, '--filter', 'code:BANK_AWAY since:1h', '--expected', '205'])
  const nothing = await desk.run('replayer', [...replay, '--yes'])
  const left = await desk.run('reader', ['dead-letters'])
  const byId = await desk.run('replayer', ['replay', ...ids, '--why', 'once more'])

  expect(unsure).toMatchObject({ code: 2, stdout: '' })
  expect(unsure.stderr).toContain(
    'The filter matches 205 calls. To go on, add --expected 205, or --yes for any number.',
  )
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('matches 205 calls, not 204') })
  expect(new Set(linesIn(started).map(({ from }) => from))).toEqual(new Set(ids))
  expect(nothing).toEqual({ code: 0, stdout: '', stderr: 'No calls match the filter.\n' })
  expect(left.stdout).toBe('')
  // More than one request may name.
  expect(linesIn(byId)).toHaveLength(205)
})

test('on a terminal it shows what it would do, and asks', async () => {
  const desk = await openDesk()
  await desk.make('ada', 'v1:shop.pay', 25)
  const replay = ['replay', '--filter', 'code:BANK_AWAY', '--why', 'the bank is back']
  const person = { tty: true, terminal: true, keyboard: true }

  const no = await desk.run('replayer', replay, { ...person, stdin: '\n' })
  const silent = await desk.run('replayer', replay, { ...person, stdin: '' })
  const before = desk.runs.length
  const yes = await desk.run('replayer', replay, { ...person, stdin: 'y\n' })

  expect(no.stderr).toBe('25  v1:shop.pay\nReplay 25 calls? [y/N] Nothing was changed.\n')
  expect(no).toMatchObject({ code: 0, stdout: '' })
  expect(silent).toEqual(no)
  expect(before).toBe(25)
  expect(yes.code).toBe(0)
  expect(yes.stdout).toMatch(/^25 calls started again:\nFROM[\s\S]+\n… and 5 more\. For all of them, add --json\.\n$/)
})

test('a question ends when the command is interrupted', async () => {
  const ending = new AbortController()
  const stderr = new PassThrough()
  const asked = confirm({ stdin: new PassThrough(), stderr, signal: ending.signal }, 'Replay 3 calls?')

  ending.abort()

  await expect(asked).rejects.toThrow(/abort/)
  expect(String(stderr.read())).toBe('Replay 3 calls? [y/N] ')
})

test('each mistake is reported with its own exit code', async () => {
  const desk = await openDesk()
  const cases: [who: 'reader' | 'replayer', args: string[], code: number, message: RegExp][] = [
    ['replayer', ['replay', '--why', 'x'], 2, /Name the ids of the calls, or a --filter/],
    ['replayer', ['replay', 'x'], 2, /Write the reason with --why/],
    ['replayer', ['replay', 'x', '--filter', '', '--why', 'x'], 2, /ids or a --filter, not both/],
    ['replayer', ['replay', 'x', '--expected', '1', '--why', 'x'], 2, /--expected belongs to a --filter/],
    ['replayer', ['replay', 'x', '--as', 'root', '--why', 'x'], 2, /--as takes owner or me, not "root"/],
    ['replayer', ['replay', 'x', 'y', '--args', '{}', '--why', 'x'], 2, /--args is for one call/],
    ['replayer', ['replay', 'x', '--args', '{', '--why', 'x'], 2, /are not JSON/],
    ['replayer', ['replay', '--filter', 'state:gone', '--why', 'x'], 2, /does not understand "state:gone"/],
    ['reader', ['replay', 'x', '--why', 'x'], 2, /does not let this credential replay calls.*callplane:replay/],
    ['replayer', ['dead-letters', 'dismiss', 'x', '--why', 'x'], 2, /dismiss dead letters.*callplane:operate/],
  ]
  for (const [who, args, code, message] of cases) {
    const done = await desk.run(who, args)
    expect(done.stderr).toMatch(message)
    expect([done.code, done.stdout]).toEqual([code, ''])
  }
})

test('dead letters are listed below their groups, and dismissed by id or by filter', async () => {
  const desk = await openDesk()
  await desk.make('ada', 'v1:shop.pay', 3)
  await desk.make('bob', 'v1:shop.pay', 1)
  await desk.make('ada', 'v1:shop.refuse', 1)
  const [bobs = ''] = await desk.ids('main', { owner: 'callplane|bob' })

  const shown = await desk.run('reader', ['dead-letters'], { tty: true })
  const lines = linesIn(await desk.run('reader', ['dead-letters', 'owner:callplane|ada', '--limit', '2']))
  const groups = linesIn(await desk.run('reader', ['dead-letters', '--groups']))
  const one = await desk.run('operator', ['dead-letters', 'dismiss', bobs, '--why', 'known'], { tty: true })
  const again = await desk.run('operator', ['dead-letters', 'dismiss', bobs, '--why', 'known'], { tty: true })
  const all = await desk.run('operator', ['dead-letters', 'dismiss', '--filter', '', '--why', 'known', '--yes'])
  const none = await desk.run('reader', ['dead-letters'], { tty: true })

  expect(shown.stdout).toMatch(
    /^COUNT +OPERATION +CODE +LAST\n4 +v1:shop\.pay +BANK_AWAY +\S+ ago\n\nID +STATE[^\n]+\n(?:[\da-f-]{36} +error [^\n]+\n){4}$/,
  )
  expect(lines.map(({ owner, deadLetter }) => [owner, deadLetter])).toEqual([
    ['callplane|ada', true],
    ['callplane|ada', true],
  ])
  expect(groups).toMatchObject([{ operation: 'v1:shop.pay', code: 'BANK_AWAY', count: 4 }])
  expect(one).toEqual({ code: 0, stdout: '1 call dismissed.\n', stderr: '' })
  expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('It was dismissed or replayed before.') })
  expect(linesIn(all)).toHaveLength(3)
  expect(none.stdout).toBe('There are no dead letters that match.\n')
})

test('hostile codes, names and reasons act on no terminal', async () => {
  const hostile = '\u001b]0;owned\u0007\u009b31m\rall is well\nv1:fake  complete \u202egpj.exe\u2069\u007f'
  const fail = operation('v1:shop.fail', {
    model: 'async',
    run: () => {
      throw new Fault('upstream', hostile, { code: hostile })
    },
  })
  const desk = await openDesk({ operations: [fail] })
  await desk.make('ada', 'v1:shop.fail', 2)
  const [id = ''] = await desk.ids()
  const person = { tty: true, terminal: true, keyboard: true, stdin: 'y\n' }
  const commands: [who: 'reader' | 'operator' | 'replayer', args: string[]][] = [
    ['reader', ['dead-letters']],
    ['reader', ['dead-letters', '--groups']],
    ['reader', ['dead-letters', '--groups', '--json']],
    ['reader', ['runs']],
    ['reader', ['runs', '--count-by', 'code']],
    ['reader', ['runs', 'show', id]],
    ['reader', ['dead-letters', `code:"${hostile}"`]],
    ['replayer', ['replay', id, hostile, '--why', hostile]],
    ['replayer', ['replay', '--dead-letters', '--why', hostile]],
    ['operator', ['runs', 'cancel', id, hostile, '--why', hostile]],
    ['operator', ['dead-letters', 'dismiss', id, hostile, '--why', hostile]],
  ]

  for (const [who, args] of commands) {
    const { stdout, stderr } = await desk.run(who, args, person)
    // A progress bar moves the cursor itself.
    const written = stdout + stderr.replaceAll('\r\u001b[2K', '')
    expect([args, written.length > 0]).toEqual([args, true])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
    expect(written).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    expect(written).not.toMatch(/^v1:fake/m)
  }
})
