/** One call on the command line: its history, its payloads, and hostile text in them. */
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { linesIn, openDesk } from './desk.ts'

/** A title, a colour, a line that replaces the one before, a reversed name, and a mark that cannot be seen. */
const HOSTILE = '\u001b]0;owned\u0007\u009b31m\rall is well\nv1:fake  complete \u202egpj.exe\u2069\u200b\u007f'
// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
const ACTING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

test('show has the attempts, the error and the replays, and neither arguments nor results', async () => {
  const flaky = operation('v1:shop.order', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 1 },
    run: () => {
      throw new Fault('upstream', 'The store is away.', { code: 'STORE_AWAY', retryable: true })
    },
  })
  const desk = await openDesk({ operations: [flaky] })
  await desk.make('ada', 'v1:shop.order', 1)
  const [id = ''] = await desk.ids()
  const [started] = linesIn(await desk.run('replayer', ['replay', id, '--why', 'again']))

  const [details] = linesIn(await desk.run('reader', ['runs', 'show', id]))
  const shown = await desk.run('reader', ['runs', 'show', id], { tty: true })

  expect(details).toMatchObject({
    call: { id, state: 'error', attempts: 2, owner: 'callplane|ada' },
    attempts: [{ outcome: 'failed', code: 'STORE_AWAY' }, { outcome: 'failed' }],
    error: { code: 'STORE_AWAY', message: 'The store is away.' },
    replays: [started?.id],
  })
  expect(JSON.stringify(details)).not.toContain('"args"')
  expect(shown.stdout).toMatch(new RegExp(`^id +${id}\noperation +v1:shop\\.order\n`))
  expect(shown.stdout).toMatch(/\ncaller +callplane\|ada\n/)
  expect(shown.stdout).toContain('\n\nError\nSTORE_AWAY: The store is away.\n\nAttempts\nATTEMPT  OUTCOME')
  expect(shown.stdout.match(/ STORE_AWAY +The store/g)).toHaveLength(2)
  expect(shown.stdout).toContain(`\n\nReplays\n${started?.id}\n`)
})

test('the decision, the approval and the child calls are shown', async () => {
  const child = operation('v1:shop.child', { model: 'async', run: () => null })
  const parent = operation('v1:shop.parent', {
    model: 'async',
    run: async (_, ctx) => {
      await ctx.call('v1:shop.child', {})
    },
  })
  const rule = { id: 'second-person', effect: 'approve' as const, what: { operation: 'v1:shop.parent' } }
  const desk = await openDesk({ operations: [child, parent], policy: { default: 'allow', rules: [rule] } })
  const { body } = await desk.as('ada', 'v1:shop.parent')
  const [id = ''] = await desk.ids()
  const held = await desk.run('reader', ['runs', 'is:held'], { tty: true })
  const waiting = await desk.run('reader', ['runs', 'show', id], { tty: true })
  await desk.as('operator', 'v1:callplane.approvals.decide', { id, verdict: 'approve', why: 'it is her birthday' })
  await desk.endedOf('ada', body.requestId)

  const shown = await desk.run('reader', ['runs', 'show', id], { tty: true })

  expect(held.stdout).toMatch(new RegExp(`\n${id} +held +`))
  expect(waiting.stdout).toMatch(/\nstate +accepted, waits for an approval\n/)
  expect(waiting.stdout).toMatch(/\nprogress +0% Waiting for an approval\.\n/)
  expect(shown.stdout).not.toMatch(/^progress/m)
  expect(shown.stdout).toMatch(/\npolicy +hold, by the rule policy#second-person\n/)
  expect(shown.stdout).toMatch(/\napproval +used, decided by callplane\|operator at \S+: it is her birthday\n/)
  expect(shown.stdout).toMatch(/\n\nChild calls\nID +STATE[^\n]+\n[\da-f-]{36} +complete .*v1:shop\.child/)
})

test('payloads are revealed to the scope alone, whole for a program and cut for a person', async () => {
  const rows = Array.from({ length: 12_000 }, (_, n) => ({ n, name: `Größe ${n} 🧦🧦🧦🧦🧦` }))
  const large = operation('v1:shop.list', {
    args: { type: 'object', properties: { shelf: { type: 'string' }, pin: { type: 'string', writeOnly: true } } },
    model: 'async',
    run: () => ({ rows }),
  })
  const desk = await openDesk({ operations: [large] })
  const { body } = await desk.as('ada', 'v1:shop.list', { shelf: 'socks', pin: 'pin-of-ada' })
  await desk.endedOf('ada', body.requestId)
  const [id = ''] = await desk.ids()
  const show = ['runs', 'show', id, '--args', '--result']

  const refused = await desk.run('reader', show)
  const whole = await desk.run('auditor', show)
  const cut = await desk.run('auditor', show, { tty: true })

  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('callplane:payloads') })
  expect(Buffer.byteLength(JSON.stringify({ rows }))).toBeGreaterThan(2 * 262_144)
  expect(linesIn(whole)[0]).toMatchObject({ call: { id }, args: { shelf: 'socks' }, result: { rows } })
  expect(whole.stderr).toBe('Not shown in args: /pin\n')
  expect(whole.stdout + cut.stdout).not.toContain('pin-of-ada')
  expect(cut.stdout).toMatch(/\n\nArguments\n\{\n {2}"shelf": "socks"/)
  expect(cut.stdout).toMatch(/\n… \d{6} more bytes\. To read all, send the output of this command to a file\.\n$/)
})

test('hostile text reaches a program unchanged, and no terminal', async () => {
  const secrets = { type: 'object', additionalProperties: { type: 'string', writeOnly: true } }
  const echo = operation('v1:shop.echo', { args: secrets, model: 'async', run: () => ({ [HOSTILE]: HOSTILE }) })
  const fail = operation('v1:shop.fail', {
    model: 'async',
    run: (_, ctx) => ctx.fail('NO', HOSTILE),
  })
  const desk = await openDesk({ operations: [echo, fail] })
  const { body } = await desk.as('ada', 'v1:shop.echo', { [HOSTILE]: 'hidden' }, { sessionId: HOSTILE })
  await desk.endedOf('ada', body.requestId)
  await desk.make('ada', 'v1:shop.fail', 1)
  const [failed = '', echoed = ''] = await desk.ids()

  const [program] = linesIn(await desk.run('auditor', ['runs', 'show', echoed, '--result']))
  const texts = [
    await desk.run('auditor', ['runs', 'show', echoed, '--args', '--result'], { tty: true }),
    await desk.run('auditor', ['runs', 'show', echoed, '--result', '--json'], { tty: true }),
    await desk.run('auditor', ['runs', 'show', failed, '--result'], { tty: true }),
    await desk.run('auditor', ['runs', HOSTILE], { tty: true }),
    await desk.run('auditor', ['runs', `owner:"${HOSTILE}"`], { tty: true }),
    await desk.run('auditor', ['runs', `what:${HOSTILE}`], { tty: true }),
    await desk.run('auditor', ['runs', 'show', HOSTILE], { tty: true }),
    await desk.run('auditor', ['runs', '--follow', HOSTILE], { tty: true }),
  ]

  expect(program?.call).toMatchObject({ sessionId: HOSTILE })
  expect(program?.result).toEqual({ [HOSTILE]: HOSTILE })
  for (const { stdout, stderr } of texts) {
    expect(stdout).not.toMatch(ACTING)
    expect(stderr).not.toMatch(ACTING)
  }
  // A line break of the text begins no line of the output.
  for (const { stdout } of texts) expect(stdout).not.toMatch(/^v1:fake/m)
  expect(texts[0]?.stderr).toMatch(/^Not shown in args: [^\n]+\n$/)
})
