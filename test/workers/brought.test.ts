/** Secrets sent with a call: sealed in the store from its acceptance to its end, so that any worker can run it. */
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'better-sqlite3'
import { createToken, type HandlerContext, operation } from 'callplane'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/core/call/caller.ts'
import type { Given } from '../../src/core/operation/requirements.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createGate, temporaryFolder } from '../scenarios/server.ts'
import { startPair, type WorkerSite } from './pair.ts'

const SECRET = 'hunter2-hunter2'
/** Nobody takes up what another has left by looking around in the course of a test. */
const work = { leaseMs: 600_000, claimEveryMs: 600_000 }

test('a secret is sealed while the call runs, also one that the operation does not name, and gone after its end', async () => {
  const gate = createGate<number>()
  const slow = operation('v1:t.slow', { model: 'async', run: () => gate.pass() })
  const [here] = await startPair({ operations: [slow], work })
  const calling = callWith(here, 't.slow', { other: SECRET })
  await gate.began
  const during = sealedIn(here)

  gate.open(1)
  await calling

  expect(during).toHaveLength(1)
  expect(JSON.stringify(during)).not.toContain(SECRET)
  expect(sealedIn(here)).toEqual([])
})

test('a call that is canceled before it begins leaves no secret', async () => {
  const gate = createGate<number>()
  const slow = operation('v1:t.slow', { model: 'async', run: () => gate.pass() })
  const [here, there] = await startPair({ operations: [slow], work, limits: { runningCalls: 0 } })
  void callWith(here, 't.slow', { s: SECRET }, 'c1').catch((thrown: Error) => thrown)
  await expect.poll(() => sealedIn(here).length).toBe(1)

  await there.request('/ops/c1', { method: 'DELETE' })

  expect((await there.poll('c1')).body.state).toBe('error')
  expect(sealedIn(here)).toEqual([])
})

test('a worker whose lease ran out leaves the secret to the one that runs the call now', async () => {
  const gates = [createGate<number>(), createGate<number>()] as const
  const seen: string[] = []
  const slow = operation('v1:t.slow', {
    model: 'async',
    requires: { secrets: ['s'] },
    run: async (_args, ctx: HandlerContext) => {
      await gates[ctx.attempt === 1 ? 0 : 1].pass()
      seen.push(`${ctx.attempt}: ${ctx.secret('s')}`)
      return 1
    },
  })
  // It checks no lease, because its clock does not move.
  const first = { clock: createManualClock(Date.now()) }
  const [here, there] = await startPair(
    { operations: [slow], work: { leaseMs: 100, claimEveryMs: 20 }, limits: { pollBurst: 1_000 } },
    { first },
  )
  void callWith(here, 't.slow', { s: SECRET }, 'c1').catch((thrown: Error) => thrown)
  await gates[1].began

  gates[0].open(1)
  await here.server.engine.worker.stop(0)
  const left = sealedIn(there)
  gates[1].open(2)
  await there.ended('c1')

  expect(left).toHaveLength(1)
  expect(seen).toEqual([`1: ${SECRET}`, `2: ${SECRET}`])
  expect(sealedIn(there)).toEqual([])
})

test('the process that took a call keeps nothing of it when another one has ended it', async () => {
  const gate = createGate<number>()
  const slow = operation('v1:t.slow', {
    model: 'async',
    run: (_args, ctx: HandlerContext) => (ctx.requestId === 'r1' ? gate.pass() : 2),
  })
  const [here, there] = await startPair({ operations: [slow], work, limits: { runningCalls: 1 } })
  await here.call('v1:t.slow', {}, { requestId: 'r1' })
  await gate.began

  // There is no free slot for it here.
  const given = await giveWith(here, 'r2')
  await there.ended('r2')

  await expect.poll(() => isCollected(given), { timeout: 3_000 }).toBe(true)
  gate.open(1)
  await there.ended('r1')
})

/** As they lie in the file. The server has it for itself, so a copy is read. */
function sealedIn({ data }: WorkerSite): unknown[] {
  const copy = temporaryFolder()
  for (const file of readdirSync(data).filter((name) => name.startsWith('callplane.db')))
    cpSync(join(data, file), join(copy, file))
  const db = new Database(join(copy, 'callplane.db'))
  try {
    return db.prepare("SELECT key, value FROM records WHERE key LIKE 'call-secrets/%'").all()
  } finally {
    db.close()
  }
}

async function callWith(
  site: WorkerSite,
  tool: string,
  secrets: Record<string, string>,
  callId = createToken().token,
): Promise<Response> {
  const context = { secrets: Object.entries(secrets).map(([id, value]) => ({ id, value })) }
  return site.request('/tools/call', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ tool_id: tool, input: {}, call_id: callId, context }),
  })
}

/** A separate function, so that nothing else holds the secrets. */
async function giveWith({ server }: WorkerSite, requestId: string): Promise<WeakRef<Given>> {
  const given: Given = { tokens: new Map(), secrets: new Map(), hear: () => {} }
  const call = { operation: 'v1:t.slow', args: {}, media: [], requestId }
  await server.engine.call(call, () => ({ ...ANONYMOUS, scopes: ['*'] }), { given })
  return new WeakRef(given)
}

function isCollected(ref: WeakRef<Given>): boolean {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return ref.deref() === undefined
}
