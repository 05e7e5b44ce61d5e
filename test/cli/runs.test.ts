/** An operator lists, counts, follows and cancels calls from the command line. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { linesIn, openDesk } from './desk.ts'
import { runCommand } from './streams.ts'

test('runs prints a table on a terminal and JSON lines for a program, newest first', async () => {
  const desk = await openDesk()
  const empty = await desk.run('reader', ['runs'], { tty: true })
  await desk.make('ada', 'v1:shop.pay', 1)
  await desk.make('bob', 'v1:shop.refuse', 1)

  const lines = linesIn(await desk.run('reader', ['runs']))
  const shown = await desk.run('reader', ['runs'], { tty: true })
  const forced = await desk.run('reader', ['runs', '--json'], { tty: true })

  expect(empty.stdout).toBe('No calls match.\n')
  expect(lines.map(({ operation, owner, code }) => [operation, owner, code])).toEqual([
    ['v1:shop.refuse', 'callplane|bob', 'NO'],
    ['v1:shop.pay', 'callplane|ada', 'BANK_AWAY'],
  ])
  expect(lines.map(({ id }) => id)).toEqual(await desk.ids())
  expect(shown.stdout).toMatch(/^ID +STATE +AGE +TOOK +TRIES +OPERATION +CODE +CALLER\n/)
  expect(shown.stdout).toMatch(/\n[\da-f-]{36} +error +\S+ +\S+ +1 +v1:shop\.pay +BANK_AWAY +callpl\S+\n/)
  expect(linesIn(forced)).toEqual(lines)
})

test('the filter of the console and the flags find the same calls, and what means nothing is named', async () => {
  const desk = await openDesk()
  await desk.make('ada', 'v1:shop.pay', 2)
  await desk.make('bob', 'v1:shop.pay', 1)
  await desk.make('ada', 'v1:shop.refuse', 1)
  const idsOf = async (...args: string[]) => linesIn(await desk.run('reader', ['runs', ...args])).map(({ id }) => id)

  const text = await idsOf('state:failed op:v1:shop.* owner:"callplane|ada" code:BANK_AWAY since:1h')
  const words = await idsOf('state:failed', 'op:v1:shop.*', 'owner:callplane|ada', 'code:BANK_AWAY', 'since:1h')
  const flags = ['--state', 'error', '--operation', 'v1:shop.*', '--owner', 'callplane|ada', '--code', 'BANK_AWAY']
  const flagged = await idsOf(...flags, '--since', '1h')
  const replaced = await idsOf('code:NO', '--code', 'BANK_AWAY')
  const counted = await desk.run('reader', ['runs', '--count-by', 'code'])
  const table = await desk.run('reader', ['runs', '--count-by', 'code', 'op:v1:shop.*'], { tty: true })

  expect(text).toHaveLength(2)
  expect([words, flagged]).toEqual([text, text])
  expect(replaced).toHaveLength(3)
  expect(linesIn(counted)).toEqual([
    { value: 'BANK_AWAY', count: 3 },
    { value: 'NO', count: 1 },
  ])
  expect(table.stdout).toBe('COUNT  CODE\n3      BANK_AWAY\n1      NO\n4      in total\n')
})

test('each mistake is reported with its own exit code', async () => {
  const desk = await openDesk()
  const id = '019c2b7e-5d1c-7a30-9b42-0d6f4e8a1c55'
  const cases: [who: 'reader' | 'ada', args: string[], code: number, message: RegExp][] = [
    ['reader', ['runs', 'colour:red'], 2, /does not understand "colour:red". It has: state: is: op: /],
    ['reader', ['runs', '--since', 'noon'], 2, /does not understand "since:noon"/],
    ['reader', ['runs', id], 2, /The id of a call is no filter. Use: callplane runs show <id>/],
    ['reader', ['runs', 'shwo', id], 2, /The id of a call is no filter/],
    ['reader', ['runs', '--count-by', 'colour'], 2, /--count-by takes state, operation, code, owner/],
    ['reader', ['runs', '--count-by', 'code', '--follow'], 2, /exclude each other/],
    ['reader', ['runs', '--follow', 'acme'], 2, /--follow cannot search arguments/],
    ['reader', ['runs', '--limit', '0'], 2, /--limit must be a whole number from 1/],
    ['reader', ['runs', '--args'], 2, /Unknown option '--args'/],
    ['reader', ['runs', 'acme'], 2, /needs the scope callplane:payloads/],
    ['reader', ['runs', 'show'], 2, /Name the call; "callplane runs" lists them/],
    ['reader', ['runs', 'show', id], 1, /There is no call "019c2b7e/],
    ['reader', ['runs', 'cancel', id], 2, /Write the reason with --why/],
    ['reader', ['runs', 'cancel', '--why', 'x'], 2, /Name the ids of the calls, or a --filter/],
    ['reader', ['runs', 'cancel', id, '--why', 'x'], 2, /does not let this credential cancel calls.*callplane:operate/],
    ['ada', ['runs'], 2, /does not let this credential see the calls of all callers.*callplane:read/],
    ['reader', ['runs', '--url', 'http://127.0.0.1:1'], 3, /No server responds/],
  ]
  for (const [who, args, code, message] of cases) {
    const done = await desk.run(who, args)
    expect(done.stderr).toMatch(message)
    expect([done.code, done.stdout]).toEqual([code, ''])
  }
})

test('many pages are read up to the limit, and a search that the server stopped says how to go on', {
  timeout: 60_000,
}, async () => {
  const desk = await openDesk({ limits: { openCallsPerCaller: 5_000, queuedCalls: 5_000 } })
  await desk.make('ada', 'v1:shop.refuse', 550)
  await desk.make('ada', 'v1:shop.refuse', 550)
  const after = ({ stderr }: { stderr: string }) => /--after (\S+)\n$/.exec(stderr)?.[1] ?? ''

  const first = await desk.run('reader', ['runs', '--limit', '450'])
  const shown = await desk.run('reader', ['runs', '--limit', '450'], { tty: true })
  const rest = await desk.run('reader', ['runs', '--limit', '5000', '--after', after(shown)])
  const stopped = await desk.run('auditor', ['runs', 'nothing like it'])
  const last = await desk.run('auditor', ['runs', 'nothing like it', '--after', after(stopped)])

  const found = [...linesIn(first), ...linesIn(rest)].map(({ id }) => id)
  expect(linesIn(first)).toHaveLength(450)
  expect(first.stderr).toBe('')
  expect(shown.stderr).toMatch(/^There may be more calls\. To go on, add: --after [\da-f-]{36}\n$/)
  expect(found).toEqual(await desk.ids())
  expect(stopped.stdout).toBe('')
  expect(stopped.stderr).toMatch(/^The server stopped its search before its end, so older calls may match too\. To go/)
  expect(last).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('follow shows calls as they begin and end, each state once', async () => {
  const desk = await openDesk()
  await desk.make('ada', 'v1:shop.pay', 1)
  await desk.make('ada', 'v1:shop.refuse', 1)
  const ending = new AbortController()
  const seen: string[] = []
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const onOutput = (text: string) => {
    seen.push(text)
    begun.resolve()
    if (text.includes('callplane|bob') && text.includes('BANK_AWAY')) ended.resolve()
  }

  const following = desk.run('reader', ['runs', '--follow', 'op:v1:shop.*'], { onOutput, signal: ending.signal })
  await begun.promise
  await desk.make('bob', 'v1:shop.pay', 1)
  await Promise.race([ended.promise, following])
  ending.abort()
  const done = await following

  const shown = linesIn(done).map(({ operation, owner, state }) => `${operation} ${owner} ${state}`)
  expect(done.code).toBe(130)
  // Oldest first.
  expect(shown.slice(0, 2)).toEqual(['v1:shop.pay callplane|ada error', 'v1:shop.refuse callplane|ada error'])
  expect(shown.at(-1)).toBe('v1:shop.pay callplane|bob error')
  expect(new Set(shown).size).toBe(shown.length)
})

test('follow shows a change that is told twice once', async () => {
  const ending = new AbortController()
  const call = { id: 'one', state: 'complete', operation: 'v1:shop.pay' }
  const told = { events: [{ kind: 'call', id: 'one' }] }
  const waits = [
    { events: [], next: 'a' },
    { ...told, next: 'b' },
    { ...told, next: 'c' },
  ]
  const url = await serveResults((op) => {
    if (op === 'v1:callplane.calls.list') return { calls: [], complete: true }
    if (op === 'v1:callplane.calls.get') return { call }
    if (waits.length === 0) ending.abort()
    return waits.shift()
  })

  const done = await runCommand(['runs', '--follow', '--url', url], { signal: ending.signal })

  expect(done.code).toBe(130)
  expect(linesIn(done)).toEqual([call])
  expect(done.stderr).toBe('')
})

test('follow reads the list again after a reset, and says so if even that has not all', async () => {
  const ending = new AbortController()
  const call = (id: string, state: string) => ({ id, state, operation: 'v1:shop.pay' })
  const waits = [
    { events: [], next: 'a' },
    { events: [], next: 'b', reset: true },
    { events: [], next: 'c', reset: true },
  ]
  const lists: object[] = [
    // At the beginning, one older call is left out.
    { calls: [call('id-2', 'pending')], next: 'id-2', complete: false },
    {
      calls: [call('id-4', 'error'), call('id-3', 'pending'), call('id-2', 'complete'), call('id-1', 'error')],
      complete: true,
    },
    { calls: [call('id-5', 'pending')], next: 'id-5', complete: false },
  ]
  const url = await serveResults((op) => {
    if (op === 'v1:callplane.calls.list') return lists.shift()
    if (waits.length === 0) ending.abort()
    return waits.shift()
  })

  const done = await runCommand(['runs', '--follow', '--url', url], { signal: ending.signal })

  expect(linesIn(done).map(({ id, state }) => `${id} ${state}`)).toEqual([
    'id-2 pending',
    'id-2 complete',
    'id-3 pending',
    'id-4 error',
    'id-5 pending',
  ])
  expect(done.stderr).toBe('Some changes may be missing here. List the calls again to see all of them.\n')
})

test('a call is canceled once, and one that has ended is skipped with exit 1', async () => {
  const desk = await openDesk()
  const { body } = await desk.as('ada', 'v1:shop.stay')
  const [id = ''] = await desk.ids()

  const done = await desk.run('operator', ['runs', 'cancel', id, '--why', 'sent twice'], { tty: true })
  const ended = await desk.endedOf('ada', body.requestId)
  const again = await desk.run('operator', ['runs', 'cancel', id, '--why', 'sent twice'])

  expect(done).toEqual({ code: 0, stdout: '1 call canceled.\n', stderr: '' })
  expect(ended.body.error?.code).toMatch(/CANCEL/)
  expect(again.code).toBe(1)
  expect(linesIn(again)).toEqual([{ id, done: false, why: 'It has ended.' }])
})

test('a filter cancels the calls that it was counted for', async () => {
  const desk = await openDesk()
  for (let n = 0; n < 3; n++) await desk.as('ada', 'v1:shop.stay', { n })
  const cancel = ['runs', 'cancel', '--filter', 'op:v1:shop.stay', '--why', 'the shop is closed']

  const unsure = await desk.run('operator', cancel)
  const wrong = await desk.run('operator', [...cancel, '--expected', '2'])
  const sure = await desk.run('operator', [...cancel, '--expected', '3'])

  expect(unsure.code).toBe(2)
  expect(unsure.stderr).toContain('The filter matches 3 calls. To go on, add --expected 3, or --yes for any number.')
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('matches 3 calls, not 2') })
  expect(linesIn(sure).map(({ done }) => done)).toEqual([true, true, true])
})

/** A server that gives each operation the result that the test says. */
async function serveResults(resultOf: (op: string) => object | undefined): Promise<string> {
  const server = createServer(async (request, response) => {
    const { op, ctx } = (await json(request)) as { op: string; ctx: { requestId: string } }
    const result = resultOf(op)
    if (!result) return
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ requestId: ctx.requestId, state: 'complete', result }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
