/** Two workers of one server behave like one process, no matter which of them gets a request. */
import { createToken, Fault, type HandlerContext, operation, type PolicyDefinition } from 'callplane'
import { describe, expect, test } from 'vitest'
import { request } from '../protocols/contract/host.ts'
import { createGate } from '../scenarios/server.ts'
import { startPair } from './pair.ts'

/** Nobody takes up what another has left by looking around in the course of a test. */
const work = { leaseMs: 600_000, claimEveryMs: 600_000 }

describe('a call that one worker runs', () => {
  test('is found, waited for and watched through the other', async () => {
    const gate = createGate<string>()
    const slow = operation('v1:jobs.slow', {
      model: 'async',
      run: (_args, ctx) => {
        ctx.progress(0.5, 'half way')
        return gate.pass()
      },
    })
    const [here, there] = await startPair({ operations: [slow], work })

    await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
    await gate.began
    await expect.poll(async () => (await there.poll('r1')).body.progress?.message).toBe('half way')
    const waiting = there.ended('r1')
    const events = there.request('/ops/r1/events').then((response) => response.text())
    gate.open('done')

    expect((await waiting).body).toMatchObject({ state: 'complete', result: 'done' })
    expect(await events).toContain('"result":"done"')
  })

  test('stops when it is canceled through the other', async () => {
    const stopped = Promise.withResolvers<unknown>()
    const began = Promise.withResolvers<void>()
    const endless = operation('v1:jobs.endless', {
      model: 'async',
      run: (_args, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => {
            stopped.resolve(ctx.signal.reason)
            reject(ctx.signal.reason)
          })
          began.resolve()
        }),
    })
    const [here, there] = await startPair({ operations: [endless], work })
    await here.call('v1:jobs.endless', {}, { requestId: 'r1' })
    await began.promise

    const canceled = await there.request('/ops/r1', { method: 'DELETE' })

    expect(await stopped.promise).toMatchObject({ kind: 'canceled' })
    expect(await canceled.json()).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  })

  test('is joined by the same key there, and runs once', async () => {
    const gate = createGate<number>()
    let runs = 0
    const buy = operation('v1:shop.buy', {
      sideEffecting: true,
      run: () => {
        runs++
        return gate.pass()
      },
    })
    const [here, there] = await startPair({ operations: [buy], work })

    const first = here.call('v1:shop.buy', {}, { requestId: 'a', idempotencyKey: 'k' })
    await gate.began
    const second = there.call('v1:shop.buy', {}, { requestId: 'b', idempotencyKey: 'k' })
    const other = await there.call('v1:shop.buy', { n: 2 }, { requestId: 'c', idempotencyKey: 'k' })
    gate.open(7)

    expect([(await first).body.result, (await second).body.result, runs]).toEqual([7, 7, 1])
    expect(other.body.error?.code).toBe('IDEMPOTENCY_KEY_REUSED')
  })

  test('is kept for a caller that saw it through the other worker before its end', async () => {
    const gate = createGate<number>()
    const pay = operation('v1:shop.pay', { sideEffecting: true, run: () => gate.pass() })
    const [here, there] = await startPair({ operations: [pay], work })
    const paying = here.call('v1:shop.pay', {}, { requestId: 'r1', idempotencyKey: 'k' })
    await gate.began

    const seen = await there.poll('r1')
    gate.open(5)
    await paying

    expect(seen.body.state).toBe('pending')
    expect((await there.poll('r1')).body).toMatchObject({ state: 'complete', result: 5 })
  })

  test('is pending or ended for a first poll at the other that races the end, and that reply stays true', async () => {
    const gates = new Map<string, ReturnType<typeof createGate<number>>>(
      Array.from({ length: 40 }, (_, at) => [`r${at}`, createGate<number>()] as const),
    )
    const pay = operation('v1:shop.pay', {
      sideEffecting: true,
      idempotencyRequired: false,
      run: (_args, { requestId }: HandlerContext) => gates.get(requestId)?.pass(),
    })
    const [here, there] = await startPair({ operations: [pay], work, limits: { pollBurst: 1_000 } })
    const later: string[] = []
    for (const [requestId, gate] of gates) {
      const paying = here.call('v1:shop.pay', {}, { requestId })
      await gate.began
      const polling = there.poll(requestId)
      // The end comes before, during or after the poll.
      for (let turn = Number(requestId.slice(1)) % 13; turn > 0; turn--) await new Promise(setImmediate)
      gate.open(5)
      const [seen] = await Promise.all([polling, paying])
      if (seen.body.state === 'pending') later.push((await there.poll(requestId)).body.state as string)
    }
    expect(later.length).toBeGreaterThan(0)
    expect(new Set(later)).toEqual(new Set(['complete']))
  })

  test('continues when its connection is lost, while the same request waits at the other', async () => {
    const gate = createGate<object>()
    const slow = operation('v1:web.search', {
      sideEffecting: true,
      run: (_args, { signal }: HandlerContext) => {
        signal.addEventListener('abort', () => gate.fail(signal.reason))
        return gate.pass()
      },
    })
    let arrivals = 0
    const guards = [{ admit: () => void arrivals++ }]
    const [here, there] = await startPair({ operations: [slow], work, guards })
    const execute = async (site: typeof here, signal?: AbortSignal) => {
      const body = JSON.stringify(request('r1', 'web_search'))
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
      return (await site.request('/tool-contract/v1/execute', signal ? { ...init, signal } : init)).json()
    }
    const leaving = new AbortController()
    const first = execute(here, leaving.signal).catch((thrown: Error) => thrown.name)
    await gate.began
    const before = arrivals
    const second = execute(there)
    await expect.poll(() => arrivals).toBeGreaterThan(before)

    leaving.abort()
    expect(await first).toBe('AbortError')
    // Round trips over both, after which both have noticed.
    for (const site of [here, there, here, there]) await metricsOf(site)
    gate.open({ found: 1 })

    expect(await second).toMatchObject({ status: 'ok', output: { found: 1 } })
  })

  test('reports its failure to the caller that waits there', async () => {
    const boom = operation('v1:jobs.boom', {
      sideEffecting: true,
      idempotencyRequired: false,
      run: () => {
        throw new Error('the printer is on fire')
      },
    })
    const [here] = await startPair({ operations: [boom], work, rest: { allowExecute: true } })

    const answer = await here.request('/tools/jobs_boom/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    })

    expect(await answer.text()).toContain('the printer is on fire')
  })
})

describe('counts', () => {
  test('an operation that may run once at a time runs once in both together, and then the next', async () => {
    const gates = [createGate<number>(), createGate<number>(), createGate<number>()]
    const order: string[] = []
    let running = 0
    let most = 0
    const press = operation('v1:press.print', {
      model: 'async',
      concurrency: 1,
      async run(_args, ctx: HandlerContext) {
        most = Math.max(most, ++running)
        const gate = gates[order.push(ctx.requestId) - 1]
        const value = await gate?.pass()
        running--
        return value
      },
    })
    const [here, there] = await startPair({ operations: [press], work })

    await here.call('v1:press.print', {}, { requestId: 'a' })
    await gates[0]?.began
    await there.call('v1:press.print', {}, { requestId: 'b' })
    await here.call('v1:press.print', {}, { requestId: 'c' })
    for (const [index, gate] of gates.entries()) {
      await gate.began
      gate.open(index)
    }
    await Promise.all(['a', 'b', 'c'].map((id) => there.ended(id)))

    expect([most, order.length]).toEqual([1, 3])
    expect([...order].sort()).toEqual(['a', 'b', 'c'])
  })

  test('a sync one is refused by the other worker while it runs, and taken after', async () => {
    const gate = createGate<number>()
    const press = operation('v1:press.print', { concurrency: 1, run: () => gate.pass() })
    const [here, there] = await startPair({ operations: [press], work })
    const first = here.call('v1:press.print')
    await gate.began

    const refused = await there.call('v1:press.print')
    gate.open(1)
    await first
    const later = await there.call('v1:press.print')

    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'PANIC_BUSY' } } })
    expect(later.body.result).toBe(1)
  })

  test('the slots of a killed worker are free again, and the other worker runs its calls at once', async () => {
    const gate = createGate<number>()
    const attempts: number[] = []
    const press = operation('v1:press.print', {
      model: 'async',
      concurrency: 1,
      run: (_args, ctx: HandlerContext) => {
        attempts.push(ctx.attempt)
        return attempts.length === 1 ? gate.pass() : 2
      },
    })
    const [here, there] = await startPair({ operations: [press], work })
    await here.call('v1:press.print', {}, { requestId: 'a' })
    await gate.began

    here.cut()

    expect((await there.ended('a')).body.result).toBe(2)
    expect(attempts[1]).toBeGreaterThan(1)
    expect((await there.call('v1:press.print', {}, { requestId: 'b' })).status).toBe(202)
    expect((await there.ended('b')).body.result).toBe(2)
  })

  test('the rate of a caller, and of polls, is one for both', async () => {
    const add = operation('v1:sums.add', { run: () => 3 })
    const gate = createGate<number>()
    const slow = operation('v1:jobs.slow', { model: 'async', run: () => gate.pass() })
    const limits = { callsPerSecond: 0.001, callBurst: 3, pollBurst: 2, pollIntervalMs: 1_000_000 }
    const [here, there] = await startPair({ operations: [add, slow], work, limits })

    await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
    const calls = [await here.call('v1:sums.add'), await there.call('v1:sums.add'), await there.call('v1:sums.add')]
    const polls = [await here.poll('r1'), await there.poll('r1'), await there.poll('r1')]
    gate.open(1)

    expect(calls.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(polls.map(({ status }) => status)).toEqual([202, 202, 429])
  })

  test('open calls of one caller are known to both a moment later', async () => {
    const gate = createGate<number>()
    const slow = operation('v1:jobs.slow', { model: 'async', run: () => gate.pass() })
    const [here, there] = await startPair({ operations: [slow], work, limits: { openCallsPerCaller: 1 } })
    await here.call('v1:jobs.slow', {}, { requestId: 'r0' })
    let sent = 0
    const next = async () => (await there.call('v1:jobs.slow', {}, { requestId: `r${++sent}` })).status

    await expect.poll(next).toBe(503)
    gate.open(1)
    await there.ended('r0')

    await expect.poll(next).toBe(202)
  })

  test('a call without a free slot in one worker runs in the other', async () => {
    const gate = createGate<number>()
    const where: string[] = []
    const slow = operation('v1:jobs.slow', {
      model: 'async',
      run: (_args, ctx: HandlerContext) => {
        where.push(ctx.requestId)
        return ctx.requestId === 'r1' ? gate.pass() : 2
      },
    })
    const [here] = await startPair({ operations: [slow], work, limits: { runningCalls: 1 } })
    await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
    await gate.began

    await here.call('v1:jobs.slow', {}, { requestId: 'r2' })

    expect((await here.ended('r2')).body.result).toBe(2)
    gate.open(1)
    expect((await here.ended('r1')).body.result).toBe(1)
  })

  test('metrics add up, and do not shrink when a worker ends', async () => {
    const add = operation('v1:sums.add', { run: () => 3 })
    const [here, there] = await startPair({ operations: [add], work })
    const count = async () =>
      /callplane_calls_total\{operation="v1:sums.add".*\} (\d+)/.exec(await metricsOf(there))?.[1]
    await here.call('v1:sums.add')
    await here.call('v1:sums.add')
    await there.call('v1:sums.add')

    expect(await count()).toBe('3')
    here.cut()
    await there.call('v1:sums.add')

    await expect.poll(count).toBe('4')
    expect((await metricsOf(there)).match(/^# TYPE process_cpu_seconds_total/gm)).toHaveLength(1)
  })
})

describe('secrets sent with a call, and waits', () => {
  test('the other worker has the secret in the second attempt', async () => {
    const secret = 'hunter2-hunter2'
    const failed = Promise.withResolvers<void>()
    const flaky = operation('v1:t.flaky', {
      model: 'async',
      requires: { secrets: ['s'] },
      retry: { attempts: 2, backoffMs: 1 },
      run: (_args, ctx) => {
        if (ctx.attempt > 1) return ctx.secret('s').length
        failed.resolve()
        throw new Fault('upstream', 'Not yet.')
      },
    })
    const [here, there] = await startPair({ operations: [flaky], work: { ...work, claimEveryMs: 50 } })
    const body = { tool_id: 't.flaky', input: {}, call_id: 'c1', context: { secrets: [{ id: 's', value: secret }] } }
    const calling = here.request('/tools/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    await failed.promise
    // It claims no more calls, so that the other worker makes the second attempt.
    await here.server.engine.worker.stop(0)

    expect((await there.ended('c1')).body).toMatchObject({ state: 'complete', result: secret.length })
    await calling
  })

  test('an approval that is given through the other worker lets the call run', async () => {
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
    const refund = operation('v1:orders.refund', { model: 'async', run: () => 'refunded' })
    const [here, there] = await startPair({ operations: [refund], work, policy, auth: { tokens } })
    const as = (who: { token: string }) => ({ headers: { Authorization: `Bearer ${who.token}` } })
    const held = await here.call('v1:orders.refund', {}, { requestId: 'r1' }, as(agent))

    const listed = await there.call('v1:callplane.approvals.list', {}, undefined, as(boss))
    const [approval] = (listed.body.result as { approvals: { id: string }[] }).approvals
    await there.call('v1:callplane.approvals.decide', { id: approval?.id, verdict: 'approve' }, undefined, as(boss))

    expect(held.body.state).toBe('accepted')
    expect((await here.ended('r1', as(agent).headers)).body.result).toBe('refunded')
  })
})

async function metricsOf(site: { request(path: string): Promise<Response> }): Promise<string> {
  return (await site.request('/metrics')).text()
}
