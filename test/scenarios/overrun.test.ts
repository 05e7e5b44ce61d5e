/** A sync call that takes longer than the maximum wait, and a caller that does not wait at all. */
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import type { Log } from '../../src/core/ports/runtime.ts'
import { verifies } from '../requirements.ts'
import { createGate, createStepClock, startSite } from './server.ts'

describe('a sync call over its time', () => {
  test('continues in the background: 202 with an address, then the result there', async () => {
    verifies('opencall:038', 'opencall:039', 'opencall:090', 'opencall:095', 'opencall:105')
    const clock = createStepClock()
    const gate = createGate<string>()
    const slow = operation('v1:maps.render', { maxSyncMs: 3_000, run: () => gate.pass() })
    const site = await startSite({ operations: [slow], clock })

    const calling = site.call('v1:maps.render', {}, { requestId: 'map-1', sessionId: 's1' })
    // In time the answer would be direct; it takes two timers, since a client's leave is watched for only after a while.
    await clock.timer(25)
    clock.advance(25)
    await clock.timer(2_975)
    clock.advance(2_975)
    const answer = await calling
    const polled = await site.poll('map-1')
    gate.open('a map')

    expect(answer).toMatchObject({
      status: 202,
      body: {
        requestId: 'map-1',
        sessionId: 's1',
        state: 'pending',
        location: { uri: `${site.url}/ops/map-1` },
        expiresAt: clock.now() / 1000 + 600,
      },
    })
    expect(polled).toMatchObject({ status: 202, body: { state: 'pending' } })
    expect(await site.ended('map-1')).toMatchObject({ status: 200, body: { state: 'complete', result: 'a map' } })
  })

  test('the caller’s timeoutMs shortens the wait, and never lengthens it', async () => {
    verifies('opencall:038', 'opencall:095')
    const clock = createStepClock()
    const gates = [createGate<number>(), createGate<number>()]
    const slow = operation('v1:maps.render', {
      args: { type: 'object', properties: { nth: { type: 'number' } } },
      maxSyncMs: 3_000,
      run: ({ nth }) => gates[Number(nth)]?.pass(),
    })
    const site = await startSite({ operations: [slow], clock })

    const hurried = site.call('v1:maps.render', { nth: 0 }, { timeoutMs: 20 })
    await clock.timer(20)
    clock.advance(20)
    expect(await hurried).toMatchObject({ status: 202, body: { state: 'pending' } })

    const patient = site.call('v1:maps.render', { nth: 1 }, { timeoutMs: 600_000 })
    await clock.timer(25)
    clock.advance(25)
    await clock.timer(2_975)
    clock.advance(2_975)
    expect(await patient).toMatchObject({ status: 202, body: { state: 'pending' } })
    for (const gate of gates) gate.open(1)
  })

  test('timeoutMs 0 asks for an address at once', async () => {
    verifies('opencall:038')
    const gate = createGate<number>()
    const slow = operation('v1:maps.render', { run: () => gate.pass() })
    const site = await startSite({ operations: [slow] })

    const answer = await site.call('v1:maps.render', {}, { requestId: 'map-1', timeoutMs: 0 })
    gate.open(5)

    expect(answer).toMatchObject({ status: 202, body: { state: 'pending' } })
    expect((await site.ended('map-1')).body.result).toBe(5)
  })

  test('one with side effects, recorded before it ran, overruns in the same way', async () => {
    verifies('opencall:038', 'opencall:095')
    const clock = createStepClock()
    const gate = createGate<string>()
    const slow = operation('v1:maps.print', { sideEffecting: true, run: () => gate.pass() })
    const site = await startSite({ operations: [slow], clock })

    const calling = site.call('v1:maps.print', {}, { requestId: 'map-1', idempotencyKey: 'k', timeoutMs: 700 })
    await clock.timer(700)
    clock.advance(700)
    const answer = await calling
    gate.open('printed')

    expect(answer).toMatchObject({ status: 202, body: { state: 'pending' } })
    expect((await site.ended('map-1')).body.result).toBe('printed')
  })
})

describe('a client that goes away', () => {
  /** A log that tells when a request ended without its client. */
  function createDepartures(): { log: Log; left: Promise<void> } {
    const left = Promise.withResolvers<void>()
    const log: Log = {
      debug: () => undefined,
      info: (fields) => void ('aborted' in fields && left.resolve()),
      warn: () => undefined,
      error: () => undefined,
      child: () => log,
    }
    return { log, left: left.promise }
  }

  test('cancels a call to which no caller can return', async () => {
    const began = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<unknown>()
    const ask = operation('v1:oracle.ask', {
      run: (_args, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            stopped.resolve(ctx.signal.reason)
            reject(ctx.signal.reason)
          })
          began.resolve()
        }),
    })
    const site = await startSite({ operations: [ask] })
    const client = new AbortController()
    const calling = site.call('v1:oracle.ask', {}, { requestId: 'ask-1' }, { signal: client.signal })
    const settled = calling.then(
      () => 'answered',
      () => 'left',
    )

    await began.promise
    client.abort()

    expect(await stopped.promise).toMatchObject({ kind: 'canceled' })
    expect(await settled).toBe('left')
    expect((await site.poll('ask-1')).status).toBe(404)
  })

  test('leaves a recorded call running, and finds its outcome later', async () => {
    const { log, left } = createDepartures()
    const gate = createGate<string>()
    let aborted = false
    const order = operation('v1:oracle.order', {
      sideEffecting: true,
      ttlSeconds: 60,
      async run(_args, ctx) {
        const value = await gate.pass()
        aborted = ctx.signal.aborted
        return value
      },
    })
    const site = await startSite({ operations: [order], log, requestLog: true })
    const client = new AbortController()
    const ctx = { requestId: 'order-1', idempotencyKey: 'k' }
    const calling = site.call('v1:oracle.order', {}, ctx, { signal: client.signal }).catch(() => undefined)

    await gate.began
    client.abort()
    await Promise.all([calling, left])
    gate.open('done')

    expect((await site.ended('order-1')).body.result).toBe('done')
    expect(aborted).toBe(false)
  })
})
