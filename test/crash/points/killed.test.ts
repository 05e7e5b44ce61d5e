/** The same with a real process and a real signal, at the points that used to take two writes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { findAdminToken } from '../../../src/server/open/admin-token.ts'
import { temporaryFolder } from '../../stores/folder.ts'
import { problemsInLedger, readLedger } from '../ledger.ts'

const PROGRAM = fileURLToPath(new URL('./killed-server.ts', import.meta.url))

async function start(data: string, point?: string): Promise<{ url: string; child: ChildProcess }> {
  const args = ['--conditions=callplane-source', PROGRAM, data, ...(point === undefined ? [] : [point])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [url] = await once(createInterface(child.stdout as NodeJS.ReadableStream), 'line')
  return { url, child }
}

const post = async (url: string, path: string, body: object, headers: Record<string, string> = {}) => {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  // biome-ignore lint/suspicious/noExplicitAny: the tests read any members they expect.
  return (await (await fetch(url + path, init)).json()) as any
}

const hold = (url: string) =>
  post(url, '/call', { op: 'v1:desk.refund', args: {}, ctx: { requestId: 'r1', idempotencyKey: 'k1' } })
const use = (url: string) => post(url, '/tools/call', { tool_id: 'desk.refund', input: {}, call_id: 'c1' })

test.each([
  ['the call and its approval are written', 'accept', hold],
  ['an approval and the key that stands for it are written', 'records.write', use],
])('killed once %s, the next server has both, and the call runs', { timeout: 60_000 }, async (_, point, send) => {
  const data = join(temporaryFolder(), 'data')
  mkdirSync(data)
  const first = await start(data, point)
  const ended = once(first.child, 'exit')
  await expect(send(first.url)).rejects.toThrow()
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(problemsInLedger(readLedger(data, Date.now()), { atRest: false })).toEqual([])

  const { url, child } = await start(data)
  const admin = { Authorization: `Bearer ${findAdminToken(data)}` }
  const list = await post(url, '/call', { op: 'v1:callplane.approvals.list', args: {} }, admin)
  const ids = list.result.approvals.map(({ id }: { id: string }) => id)
  for (const id of ids)
    await post(url, '/call', { op: 'v1:callplane.approvals.decide', args: { id, verdict: 'approve' } }, admin)
  const answer = send === use ? await use(url) : await polled(url)
  child.kill('SIGKILL')
  await once(child, 'exit')

  expect(ids).toHaveLength(1)
  expect(answer).toMatchObject(send === use ? { success: true } : { state: 'complete' })
  expect(problemsInLedger(readLedger(data, Date.now()))).toEqual([])
})

async function polled(url: string): Promise<object> {
  for (;;) {
    const response = await fetch(`${url}/ops/r1`, { headers: { Prefer: 'wait=5' } })
    const body = (await response.json()) as { state: string }
    if (body.state === 'complete' || body.state === 'error') return body
  }
}
