/** A server is killed in the middle of a replay. The next one goes on with it, and starts each call once. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { findAdminToken } from '../../src/server/open/admin-token.ts'
import { temporaryFolder } from '../stores/folder.ts'

const PROGRAM = fileURLToPath(new URL('./replay-server.ts', import.meta.url))
const CALLS = 40

async function start(data: string, ...more: string[]): Promise<{ url: string; child: ChildProcess }> {
  const args = ['--conditions=callplane-source', PROGRAM, data, ...more]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [url] = await once(createInterface(child.stdout as NodeJS.ReadableStream), 'line')
  return { url, child }
}

interface Answer {
  requestId: string
  state: string
  result?: { started: { from: string }[]; refused: unknown[]; calls: { id: string }[] }
}

async function post(url: string, data: string, op: string, args: object, idempotencyKey: string): Promise<Answer> {
  const response = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${findAdminToken(data)}` },
    body: JSON.stringify({ op, args, ctx: { idempotencyKey } }),
  })
  return (await response.json()) as Answer
}

async function ended(url: string, data: string, requestId: string): Promise<Answer> {
  for (;;) {
    const headers = { Prefer: 'wait=5', Authorization: `Bearer ${findAdminToken(data)}` }
    const answer = (await (await fetch(`${url}/ops/${requestId}`, { headers })).json()) as Answer
    if (answer.state === 'complete' || answer.state === 'error') return answer
  }
}

test.each(['1', '20', '40'])(
  'killed when %s of 40 replayed calls have started',
  { timeout: 60_000 },
  async (deadly) => {
    const data = join(temporaryFolder(), 'data')
    mkdirSync(data)
    const first = await start(data)
    const numbers = Array.from({ length: CALLS }, (_, n) => n)
    const made = await Promise.all(numbers.map((n) => post(first.url, data, 'v1:shop.pay', { n }, `pay-${n}`)))
    for (const { requestId } of made) await ended(first.url, data, requestId)
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')

    const filter = { deadLetter: true, operation: 'v1:shop.*' }
    const all = { filter, expected: CALLS, as: 'owner', why: 'the bank is back' }
    const second = await start(data, 'mended', deadly)
    const dies = once(second.child, 'exit')
    await post(second.url, data, 'v1:callplane.calls.replay', all, 'the-replay').catch(() => undefined)
    expect(await dies).toEqual([null, 'SIGKILL'])

    const third = await start(data, 'mended')
    // The client repeats its request, because it got no answer.
    const again = await post(third.url, data, 'v1:callplane.calls.replay', all, 'the-replay')
    const { result } = await ended(third.url, data, again.requestId)

    expect(result?.refused).toEqual([])
    expect(new Set(result?.started.map(({ from }) => from)).size).toBe(CALLS)
    for (const { requestId } of (result?.started ?? []) as unknown as { requestId: string }[])
      expect((await ended(third.url, data, requestId)).state).toBe('complete')
    // A call that was cut off runs again under the same key. No call has two keys.
    const paid = new Set(readFileSync(join(data, 'paid'), 'utf8').trim().split('\n'))
    expect([...paid].map((line) => Number(line.split(' ')[0])).sort((a, b) => a - b)).toEqual(numbers)
  },
)
