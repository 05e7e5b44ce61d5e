/** Decisions from the command line, with the data folder's administrator token. */
import { readFile } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { callOver, runProcess, SOURCE, serveProcess, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const OPERATIONS = `
import { operation } from '${SOURCE}'
export const server = { policy: { default: 'approve' } }
export const refund = operation('v1:orders.refund', {
  model: 'async',
  run: ({ amount }) => 'refunded ' + amount,
})`

async function startHeld() {
  const folder = await temporaryFolder({ 'operations.ts': OPERATIONS })
  const served = await serveProcess([`${folder}/operations.ts`, '--data', `${folder}/data`])
  const at = ['--url', served.url, '--data', `${folder}/data`]
  const call = async (amount: number) => (await callOver(served.url, 'v1:orders.refund', { amount })).body.requestId
  const ended = async (id: string) => {
    const response = await fetch(`${served.url}/ops/${id}`, { headers: { Prefer: 'wait=20' } })
    return (await response.json()) as { state: string; error?: { code: string; message: string } }
  }
  const approvals = (...args: string[]) => runCommand(['approvals', ...args, ...at])
  return { ...served, folder, at, call, ended, approvals }
}

test('calls that wait are listed, shown, approved and denied', async () => {
  const { call, ended, approvals } = await startHeld()
  const nothing = await approvals()
  const ids = [await call(500), await call(700)]

  const listed = await approvals('list')
  const { stdout } = await approvals('--json')
  const [first, second] = JSON.parse(stdout) as { id: string; args: { amount: number } }[]
  const shown = await approvals('show', first?.id ?? '')
  const approved = await approvals('approve', first?.id ?? '')
  const denied = await approvals('deny', second?.id ?? '', '--why', 'too much')
  const again = await approvals('approve', first?.id ?? '')
  const all = await approvals('--all')

  expect(nothing).toEqual({ code: 0, stdout: 'No calls are waiting for an approval.\n', stderr: '' })
  expect(listed.stdout).toMatch(/^ID +STATUS +OPERATION +CALLER +RISK +UNTIL +ARGUMENTS\n/)
  expect(listed.stdout).toMatch(/pending +v1:orders\.refund +none\|anonymous +low +\S+Z +\{"amount":500\}\n/)
  expect(JSON.parse(shown.stdout)).toMatchObject({ id: first?.id, status: 'pending', args: { amount: 500 } })
  expect(approved).toEqual({
    code: 0,
    stdout: 'v1:orders.refund for none|anonymous is approved and runs now.\n',
    stderr: '',
  })
  expect(denied.stdout).toBe('v1:orders.refund for none|anonymous is denied.\n')
  expect(again.code).toBe(1)
  expect(again.stderr).toMatch(/^callplane: The approval "\S+" is already (approved|used)\.\n$/)
  expect(all.stdout).toContain('denied')
  expect(await ended(ids[0] ?? '')).toMatchObject({ state: 'complete' })
  expect(await ended(ids[1] ?? '')).toMatchObject({
    state: 'error',
    error: { code: 'APPROVAL_DENIED', message: expect.stringContaining('too much') },
  })
})

test('each mistake is reported with its own exit code', async () => {
  const { url, folder, at } = await startHeld()
  const cases: [args: string[], code: number, message: RegExp][] = [
    [['grant', 'x', ...at], 2, /list, show, approve or deny/],
    [['approve', ...at], 2, /Name the approval/],
    [['list', 'x', ...at], 2, /Unexpected argument "x"/],
    [['approve', 'nonsense', ...at], 1, /There is no approval "nonsense"/],
    [['list', '--url', url, '--data', folder], 2, /does not let this credential decide.*--data/],
    [['list', '--url', url, '--token', 'another'], 2, /does not let this credential decide/],
    [['list', '--url', 'http://127.0.0.1:1'], 3, /No server responds/],
  ]
  for (const [args, code, message] of cases) {
    const done = await runCommand(['approvals', ...args])
    expect(done.stderr).toMatch(message)
    expect([done.code, done.stdout]).toEqual([code, ''])
  }
})

test('a server killed while a call waits for an approval has it still, and runs it once when it is approved', async () => {
  const folder = await temporaryFolder({
    'operations.ts': `
import { appendFileSync } from 'node:fs'
import { operation } from '${SOURCE}'
export const server = { policy: { default: 'approve' } }
export const refund = operation('v1:orders.refund', {
  model: 'async',
  run: (_args, { key }) => appendFileSync(import.meta.dirname + '/effects', key + '\\n'),
})`,
  })
  const command = [`${folder}/operations.ts`, '--data', `${folder}/data`]
  const first = await serveProcess(command)
  const { requestId } = (await callOver(first.url, 'v1:orders.refund')).body
  first.kill('SIGKILL')
  await first.ended

  const second = await serveProcess(command)
  const at = ['--url', second.url, '--data', `${folder}/data`]
  const held = (await (await fetch(`${second.url}/ops/${requestId}`)).json()) as { state: string }
  const [approval] = JSON.parse((await runCommand(['approvals', '--json', ...at])).stdout) as { id: string }[]
  const approved = await runProcess(['approvals', 'approve', approval?.id ?? '', ...at])
  const ended = await fetch(`${second.url}/ops/${requestId}`, { headers: { Prefer: 'wait=20' } })

  expect(held.state).toBe('accepted')
  expect(approved).toMatchObject({ code: 0, stderr: '' })
  expect(await ended.json()).toMatchObject({ state: 'complete' })
  expect((await readFile(`${folder}/effects`, 'utf8')).trim().split('\n')).toHaveLength(1)
})
