/** What a call brings and nobody may write down, where two workers share it: there while it is needed, and no longer. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createToken, type HandlerContext, operation } from 'callplane'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/core/caller.ts'
import type { Given } from '../../src/core/requirements.ts'
import { HandedOver } from '../../src/server/workers/handed-over.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createGate } from '../scenarios/server.ts'
import { startPair, type WorkerSite } from './pair.ts'

const SECRET = 'hunter2-hunter2'
/** Nobody takes up what another has left by looking around in the course of a test. */
const work = { leaseMs: 600_000, claimEveryMs: 600_000 }

test('a secret that the operation does not name stays in the process that took the call', async () => {
  const gate = createGate<number>()
  const ids: string[] = []
  const slow = operation('v1:t.slow', {
    model: 'async',
    requires: { secrets: ['named'] },
    run: (_args, ctx: HandlerContext) => {
      ids.push(ctx.key)
      return gate.pass()
    },
  })
  const [here, there] = await startPair({ operations: [slow], work })
  const calling = callWith(here, 't.slow', { named: SECRET, other: 'none of theirs' })
  await gate.began
  const handed = await there.link.siblings.handedOver(ids[0] as string)

  gate.open(1)
  await calling

  expect([...(handed?.secrets ?? [])]).toEqual([['named', SECRET]])
  await expect.poll(() => there.link.siblings.handedOver(ids[0] as string)).toBeUndefined()
})

test('where the operation names none, nothing is handed over that nobody would forget', async () => {
  const gate = createGate<number>()
  const ids: string[] = []
  const slow = operation('v1:t.slow', {
    model: 'async',
    run: (_args, ctx: HandlerContext) => {
      ids.push(ctx.key)
      return gate.pass()
    },
  })
  const [here, there] = await startPair({ operations: [slow], work })
  const calling = callWith(here, 't.slow', { other: SECRET })
  await gate.began

  expect(await there.link.siblings.handedOver(ids[0] as string)).toBeUndefined()
  gate.open(1)
  await calling
})

test('a worker whose lease ran out leaves it to the one that runs the call now', async () => {
  const gates = [createGate<number>(), createGate<number>()] as const
  const ids: string[] = []
  const slow = operation('v1:t.slow', {
    model: 'async',
    requires: { secrets: ['s'] },
    run: (_args, ctx: HandlerContext) => {
      ids.push(ctx.key)
      return gates[ctx.attempt === 1 ? 0 : 1].pass()
    },
  })
  // It looks at no lease, since its time stands still.
  const first = { clock: createManualClock(Date.now()) }
  const [here, there] = await startPair(
    { operations: [slow], work: { leaseMs: 100, claimEveryMs: 20 }, limits: { pollBurst: 1_000 } },
    { first },
  )
  void callWith(here, 't.slow', { s: SECRET }).catch((thrown: Error) => thrown)
  await gates[1].began

  gates[0].open(1)
  await here.server.engine.worker.stop(0)
  const kept = await there.link.siblings.handedOver(ids[0] as string)
  gates[1].open(2)

  expect(kept?.secrets.get('s')).toBe(SECRET)
  await expect.poll(() => there.link.siblings.handedOver(ids[0] as string)).toBeUndefined()
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

  // There is no room for it here.
  const given = await giveWith(here, 'r2')
  await there.ended('r2')

  await expect.poll(() => isCollected(given), { timeout: 3_000 }).toBe(true)
  gate.open(1)
  await there.ended('r1')
})

test('so much is kept and no more, and the oldest is forgotten first', () => {
  const handedOver = new HandedOver()
  const big = { tokens: [], secrets: [['s', 'x'.repeat(20 * 1024 * 1024)]] as [string, string][] }

  handedOver.put('first', big)
  handedOver.put('first', big)
  const alone = handedOver.get('first')
  handedOver.put('second', big)

  expect(alone).toBe(big)
  expect(handedOver.get('first')).toBeUndefined()
  expect(handedOver.get('second')).toBe(big)
})

async function callWith(site: WorkerSite, tool: string, secrets: Record<string, string>): Promise<Response> {
  const context = { secrets: Object.entries(secrets).map(([id, value]) => ({ id, value })) }
  return site.request('/tools/call', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ tool_id: tool, input: {}, call_id: createToken().token, context }),
  })
}

/** In a function of its own, so that nothing else holds what was given. */
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
