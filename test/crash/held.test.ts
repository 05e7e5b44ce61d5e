/** Kills a real server process while a call waits for an approval, and right after the approval. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { findAdminToken } from '../../src/server/open/admin-token.ts'
import { runProcess, type Served, SOURCE, serveProcess, temporaryFolder } from '../cli/processes.ts'
import { callerOf } from '../scenarios/server.ts'

// Processes start slowly on a busy machine, and the lease of the dead one may have to run out.
vi.setConfig({ testTimeout: 60_000 })

/** One operation, each run of which is a line in a file, under a policy that holds every call. */
async function open() {
  const folder = await temporaryFolder({ 'policy.yaml': 'default: approve\n', runs: '' })
  const app = await temporaryFolder({
    'operations.ts': `
      import { appendFileSync } from 'node:fs'
      import { operation } from '${SOURCE}'
      export const op = operation('v1:Ledger.Book', {
        model: 'async',
        run(args) {
          appendFileSync(${JSON.stringify(join(folder, 'runs'))}, 'run\\n')
          return args
        },
      })
      export const server = { work: { leaseMs: 1000, claimEveryMs: 200 } }`,
  })
  const data = join(folder, 'data')
  const start = () => serveProcess([app, '--policy', join(folder, 'policy.yaml'), '--data', data])
  const approvals = async ({ url }: Served, ...words: string[]) => {
    const { code, stdout, stderr } = await runProcess(['approvals', ...words, '--json', '--data', data, '--url', url])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  const runs = async () => (await readFile(join(folder, 'runs'), 'utf8')).split('\n').length - 1
  return { start, approvals, runs, data }
}

async function kill(server: Served): Promise<void> {
  server.kill('SIGKILL')
  await server.ended
}

test('killed while a call waits for an approval, the next server still has both, and runs it once it is given', async () => {
  const { start, approvals, runs } = await open()
  const first = await start()
  const { body } = await callerOf(first.url).call('v1:Ledger.Book', { amount: 5 })
  await kill(first)

  const second = await start()
  const [waiting, ...others] = await approvals(second)
  expect(waiting).toMatchObject({ status: 'pending', args: { amount: 5 } })
  expect(others).toEqual([])
  expect((await callerOf(second.url).poll(body.requestId)).body).toMatchObject({ state: 'accepted' })
  expect(await runs()).toBe(0)
  await approvals(second, 'approve', waiting.id)

  const ended = await callerOf(second.url).ended(body.requestId)
  expect(ended.body).toMatchObject({ state: 'complete', result: { amount: 5 } })
  expect(await runs()).toBe(1)
})

test('killed right after the approval was given, the next server runs the call', async () => {
  const { start, approvals, data } = await open()
  const first = await start()
  const { body } = await callerOf(first.url).call('v1:Ledger.Book', { amount: 5 })
  const [waiting] = await approvals(first)

  const headers = { Authorization: `Bearer ${findAdminToken(data)}` }
  const decision = { id: waiting.id, verdict: 'approve' }
  const decided = await callerOf(first.url).call('v1:callplane.approvals.decide', decision, undefined, { headers })
  await kill(first)
  const second = await start()

  expect(decided.body).toMatchObject({ state: 'complete', result: { status: 'approved' } })
  const ended = await callerOf(second.url).ended(body.requestId)
  expect(ended.body).toMatchObject({ state: 'complete', result: { amount: 5 } })
  expect(await approvals(second)).toEqual([])
})
