/** Calls that are made at one server and followed, stopped, joined or approved at another. */
import { createToken, type HandlerContext, operation, type PolicyDefinition } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { request } from '../protocols/contract/host.ts'
import { createGate, type Site } from '../scenarios/server.ts'
import { startNodes, WORK as work } from './sites.ts'

type Pair = [Site, Site]

const endless = operation('v1:jobs.endless', {
  model: 'async',
  run: (_args, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

describeWith(postgresServer, 'a call between servers on one Postgres', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  test('is waited for and watched as events at another server', async () => {
    const gate = createGate<string>()
    const slow = operation('v1:jobs.slow', {
      model: 'async',
      run: async (_args, ctx) => {
        await ctx.progress(0.5, 'half way')
        return gate.pass()
      },
    })
    const [here, there, third] = (await startNodes(postgres, { options: { operations: [slow], work }, count: 3 })) as [
      Site,
      Site,
      Site,
    ]

    await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
    await gate.began
    const waiting = there.poll('r1', { Prefer: 'wait=30' })
    const events = third.request('/ops/r1/events').then((response) => response.text())
    gate.open('done')

    // A single wait: it is woken by the end, and not by another poll.
    expect((await waiting).body).toMatchObject({ state: 'complete', result: 'done' })
    expect(await events).toContain('"result":"done"')
  }, 60_000)

  test('stops at once when it is canceled at another server', async () => {
    const [here, there] = (await startNodes(postgres, { options: { operations: [endless], work } })) as Pair
    await here.call('v1:jobs.endless', {}, { requestId: 'r1' })

    // Its lease is renewed after minutes, so the request to stop must have come by message.
    const canceled = await there.request('/ops/r1', { method: 'DELETE' })

    expect(await canceled.json()).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  }, 60_000)

  test('ends at once when it is canceled while it waits for a slot, here or at another server', async () => {
    const limits = { runningCalls: 1 }
    const [here, there] = (await startNodes(postgres, { options: { operations: [endless], work, limits } })) as Pair
    // Both servers are busy for as long as the test takes.
    for (const requestId of ['busy1', 'busy2']) await here.call('v1:jobs.endless', {}, { requestId })
    await expect.poll(async () => (await here.poll('busy2')).body.state).toBe('pending')

    for (const [requestId, server] of [
      ['r1', here],
      ['r2', there],
    ] as const) {
      await here.call('v1:jobs.endless', {}, { requestId })
      const canceled = await server.request(`/ops/${requestId}`, { method: 'DELETE' })

      expect(await canceled.json()).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
    }
  }, 60_000)

  test('never starts when it is canceled while it waits for a slot, and its key can be used again', async () => {
    const limits = { runningCalls: 1 }
    const [here] = (await startNodes(postgres, { count: 1, options: { operations: [endless], work, limits } })) as [
      Site,
    ]
    await here.call('v1:jobs.endless', {}, { requestId: 'busy' })
    await here.call('v1:jobs.endless', {}, { requestId: 'r1', idempotencyKey: 'k1' })

    await here.request('/ops/r1', { method: 'DELETE' })
    const again = await here.call('v1:jobs.endless', {}, { requestId: 'r2', idempotencyKey: 'k1' })

    expect(again.body).toMatchObject({ requestId: 'r2', state: 'accepted' })
  }, 60_000)

  test('is joined by its key, and goes on when the first connection is lost', async () => {
    const gate = createGate<object>()
    let [runs, arrivals] = [0, 0]
    const search = operation('v1:web.search', {
      sideEffecting: true,
      run: (_args, { signal }: HandlerContext) => {
        runs++
        signal.addEventListener('abort', () => gate.fail(signal.reason))
        return gate.pass()
      },
    })
    const guards = [{ admit: () => void arrivals++ }]
    const [here, there] = (await startNodes(postgres, {
      options: { operations: [search, endless], work, guards },
    })) as Pair
    const execute = async (site: Site, signal?: AbortSignal) => {
      const body = JSON.stringify(request('r1', 'web_search'))
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
      return (await site.request('/tool-contract/v1/execute', signal ? { ...init, signal } : init)).json()
    }
    const leaving = new AbortController()
    const first = execute(here, leaving.signal).catch((thrown: Error) => thrown.name)
    await gate.began
    const second = execute(there)
    await expect.poll(() => arrivals).toBeGreaterThan(1)

    leaving.abort()
    expect(await first).toBe('AbortError')
    // The servers exchange messages about other calls, after which both have noticed.
    for (const [n, site] of [there, here, there, here].entries()) {
      await site.call('v1:jobs.endless', {}, { requestId: `e${n}` })
      await (site === here ? there : here).request(`/ops/e${n}`, { method: 'DELETE' })
    }
    gate.open({ found: 1 })

    expect(await second).toMatchObject({ status: 'ok', output: { found: 1 } })
    expect(runs).toBe(1)
  }, 60_000)

  test('runs when it is approved at another server, and a second decision is refused', async () => {
    const { options, as, boss, agent, runs } = governed()
    const [here, there] = (await startNodes(postgres, { options })) as Pair
    const held = await here.call('v1:orders.refund', {}, { requestId: 'r1' }, as(agent))
    const listed = await there.call('v1:callplane.approvals.list', {}, undefined, as(boss))
    const [approval] = (listed.body.result as { approvals: { id: string }[] }).approvals

    const decide = (site: Site) =>
      site.call('v1:callplane.approvals.decide', { id: approval?.id, verdict: 'approve' }, undefined, as(boss))
    const decisions = await Promise.all([decide(here), decide(there)])

    expect(held.body.state).toBe('accepted')
    expect(decisions.map(({ body }) => body.state).sort()).toEqual(['complete', 'error'])
    expect((await here.ended('r1', as(agent).headers)).body.result).toBe('refunded')
    expect(runs()).toBe(1)
  }, 60_000)

  test('uses a single-use grant once, although it is sent to two servers at once', async () => {
    const { options, as, boss, agent, runs } = governed()
    const [here, there] = (await startNodes(postgres, { options })) as Pair
    const execute = async (site: Site, id: string) => {
      const headers = { 'Content-Type': 'application/json', ...as(agent).headers }
      const body = JSON.stringify({ tool_id: 'orders.refund', input: {}, call_id: id })
      return (await site.request('/tools/call', { method: 'POST', headers, body })).json()
    }
    await execute(here, 'c1')
    const listed = await there.call('v1:callplane.approvals.list', {}, undefined, as(boss))
    const [approval] = (listed.body.result as { approvals: { id: string }[] }).approvals
    await there.call('v1:callplane.approvals.decide', { id: approval?.id, verdict: 'approve' }, undefined, as(boss))

    await Promise.all([execute(here, 'c2'), execute(there, 'c3')])

    expect(runs()).toBe(1)
  }, 60_000)
})

function governed() {
  const boss = createToken()
  const agent = createToken()
  const tokens = [
    { hash: boss.hash, kind: 'bearer' as const, subject: 'boss', scopes: ['callplane:approve'] },
    { hash: agent.hash, kind: 'bearer' as const, subject: 'agent', scopes: [] },
  ]
  const policy: PolicyDefinition = {
    default: 'allow',
    rules: [{ id: 'all-refunds', effect: 'approve', what: { operation: 'v1:orders.refund' } }],
  }
  let runs = 0
  const refund = operation('v1:orders.refund', {
    model: 'async',
    run: () => {
      runs++
      return 'refunded'
    },
  })
  const as = (who: { token: string }) => ({ headers: { Authorization: `Bearer ${who.token}` } })
  return { options: { operations: [refund], work, policy, auth: { tokens } }, as, boss, agent, runs: () => runs }
}
