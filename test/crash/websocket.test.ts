/** Kills a real server process while calls and streams run over WebSocket, and goes on over a new connection. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { openSocket, type SocketClient } from '../carriers/websocket/client.ts'
import { temporaryFolder } from '../cli/processes.ts'
import { verifies } from '../requirements.ts'
import { CrashingServer } from './crashing-server.ts'
import { problemsInLedger, readLedger } from './ledger.ts'

const ROUNDS = 6
const CALLS_A_ROUND = 50

interface Result {
  label: string
  key: string
}

test('killed at random moments, the server loses no call that it accepted over WebSocket', {
  timeout: 120_000,
}, async () => {
  verifies('opencall:303')
  const server = new CrashingServer(await temporaryFolder())
  onTestFinished(() => server.kill())
  await server.start()
  const open = new Set<string>()
  const accepted = new Set<string>()
  const results = new Map<string, Result>()

  for (let round = 0; round < ROUNDS; round++) {
    const client = await openSocket(`${await server.address}/call`)
    // Calls of earlier rounds are sent again: the same request id joins the call that the last server accepted.
    for (let n = 0; n < CALLS_A_ROUND; n++) open.add(randomUUID())
    for (const id of open) client.call('v1:Crash.Work', { label: id, ms: 30 }, { requestId: id })
    await readUntil(client, () => results.size >= (round + 1) * 15, { open, accepted, results })
    await server.kill()
    await server.start()
  }
  const last = await openSocket(`${await server.address}/call`)
  for (const id of open) last.call('v1:Crash.Work', { label: id, ms: 30 }, { requestId: id })
  await readUntil(last, () => open.size === 0, { open, accepted, results })
  await server.kill()
  const effects = readFileSync(server.effectsFile, 'utf8').trim().split('\n')
  const keys = new Map<string, Set<string>>()
  for (const line of effects) {
    const [label = '', key = ''] = line.split(' ')
    keys.set(label, (keys.get(label) ?? new Set()).add(key))
  }

  expect(results.size).toBe(ROUNDS * CALLS_A_ROUND)
  expect([...accepted].filter((id) => !results.has(id))).toEqual([])
  // The handler may run again after a kill, always with the same key.
  expect([...keys.values()].every((of) => of.size === 1)).toBe(true)
  expect(problemsInLedger(readLedger(server.data, Date.now()))).toEqual([])
})

test('a stream whose server is killed ends in error on the next one, and can be subscribed again', {
  timeout: 60_000,
}, async () => {
  const server = new CrashingServer(await temporaryFolder())
  onTestFinished(() => server.kill())
  await server.start()
  const client = await openSocket(`${await server.address}/call`)
  client.call('v1:Crash.Feed', {}, { requestId: 'feed' })
  await client.envelope()
  await client.frame()
  await server.kill()
  await client.closed
  await server.start()
  const next = await openSocket(`${await server.address}/call`)
  next.call('v1:getOperation', { requestId: 'feed', watch: true }, { requestId: 'ask' })
  const asked = await next.envelope()
  const ended = (asked.result as { state: string }).state === 'error' ? asked.result : await next.envelope()
  next.call('v1:Crash.Feed', {}, { requestId: 'again' })

  expect(ended).toMatchObject({ requestId: 'feed', state: 'error', error: { code: 'PANIC_STREAM_INTERRUPTED' } })
  expect(await next.envelope()).toMatchObject({ requestId: 'again', state: 'streaming' })
  expect((await next.frame()).payload.toString()).toBe('{"n":1}')
})

interface Seen {
  open: Set<string>
  accepted: Set<string>
  results: Map<string, Result>
}

async function readUntil({ envelope }: SocketClient, done: () => boolean, { open, accepted, results }: Seen) {
  while (!done()) {
    const { requestId, state, result, error } = await envelope()
    if (error) throw new Error(`${requestId}: ${error.code} ${error.message}`)
    accepted.add(requestId)
    if (state !== 'complete') continue
    results.set(requestId, result as unknown as Result)
    open.delete(requestId)
  }
}
