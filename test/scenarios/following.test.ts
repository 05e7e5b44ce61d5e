/** What a caller can do while a call runs: wait for it, watch it, stop it. */
import { createToken, Fault, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import type { ResponseEnvelope } from '../../src/protocols/opencall/wire.ts'
import { verifies } from '../requirements.ts'
import { answered, createGate, createStepClock, startSite } from './server.ts'

/** Server-sent events as they come. */
async function openEvents(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let all = ''
  return {
    /** All that has come, once it holds `mark`. */
    async until(mark: string): Promise<string> {
      while (!all.includes(mark)) {
        const { done, value } = await reader.read()
        if (done) throw new Error(`The events ended before "${mark}" came: ${all}`)
        all += value
      }
      return all
    },
    async rest(): Promise<string> {
      for (let step = await reader.read(); !step.done; step = await reader.read()) all += step.value
      return all
    },
    leave: () => reader.cancel(),
  }
}

describe('Prefer: wait', () => {
  test('on a poll answers when the state changes', async () => {
    verifies('opencall:052', 'opencall:097', 'opencall:150', 'opencall:151')
    const gate = createGate<number>()
    const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [build] })
    await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
    expect((await site.poll('build-1')).body.state).toBe('pending')

    const waiting = site.poll('build-1', { Prefer: 'respond-async, wait=30' })
    gate.open(5)

    expect(await waiting).toMatchObject({ status: 200, body: { state: 'complete', result: 5 } })
  })

  test('on a poll answers with what there is when the time is over', async () => {
    verifies('opencall:052')
    const clock = createStepClock()
    const gate = createGate<number>()
    const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [build], clock })
    await site.call('v1:jobs.build', {}, { requestId: 'build-1' })

    const waiting = site.poll('build-1', { Prefer: 'wait=7' })
    await clock.timer(7_000)
    clock.advance(7_000)
    const answer = await waiting
    gate.open(5)

    expect(answer).toMatchObject({ status: 202, body: { state: 'pending', retryAfterMs: expect.any(Number) } })
  })

  test('on the call itself answers with its end, or with the address after that time', async () => {
    verifies('opencall:098')
    const clock = createStepClock()
    const gates = [createGate<number>(), createGate<number>()]
    const build = operation('v1:jobs.build', {
      model: 'async',
      args: { type: 'object', properties: { nth: { type: 'number' } } },
      run: ({ nth }) => gates[Number(nth)]?.pass(),
    })
    const site = await startSite({ operations: [build], clock })
    const prefer = { headers: { Prefer: 'wait=3' } }

    const quick = site.call('v1:jobs.build', { nth: 0 }, { requestId: 'quick' }, prefer)
    await gates[0]?.began
    gates[0]?.open(5)
    expect(await quick).toMatchObject({ status: 200, body: { state: 'complete', result: 5 } })

    const slow = site.call('v1:jobs.build', { nth: 1 }, { requestId: 'slow' }, prefer)
    await clock.timer(3_000)
    clock.advance(3_000)
    const answer = await slow
    gates[1]?.open(6)

    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({ location: { uri: `${site.url}/ops/slow` }, expiresAt: expect.any(Number) })
  })
})

describe('events', () => {
  test('a caller may have so many open, and each that ends or is left makes room', async () => {
    const gate = createGate<number>()
    const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [build], opencall: { eventStreamsPerCaller: 2 } })
    await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
    const open = () => site.request('/ops/build-1/events')
    const first = await openEvents(await open())
    await first.until('data')
    // A HEAD request and a request for an unknown call take no place.
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await site.request('/ops/build-1/events', { method: 'HEAD' })).status).toBe(200)
      expect((await site.request('/ops/none/events')).status).toBe(404)
    }
    const second = await openEvents(await open())
    await second.until('data')

    const refused = await answered(await open())
    gate.open(5)
    await Promise.all([first.rest(), second.rest()])
    const again = await open()

    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_STREAMS' } } })
    expect(again.status).toBe(200)
    expect(await again.text()).toContain('complete')
  })

  test('tell the states and the progress in between, and end with the call', async () => {
    verifies('opencall:290', 'opencall:291')
    const [half, rest] = [createGate<void>(), createGate<string>()]
    const paint = operation('v1:walls.paint', {
      model: 'async',
      async run(_args, ctx) {
        await half.pass()
        ctx.progress(0.5, 'one wall')
        const color = await rest.pass()
        return { color }
      },
    })
    const site = await startSite({ operations: [paint] })
    await site.call('v1:walls.paint', {}, { requestId: 'paint-1', sessionId: 's1' })

    const response = await site.request('/ops/paint-1/events')
    const events = await openEvents(response)
    await events.until('"state":"pending"')
    half.open()
    await events.until('one wall')
    const polled = await site.poll('paint-1')
    rest.open('blue')
    const all = await events.rest()

    expect(response.headers.get('Content-Type')).toBe('text/event-stream')
    expect(polled.body).toMatchObject({ state: 'pending', progress: { fraction: 0.5, message: 'one wall' } })
    const told = all.split('\n\n').filter((event) => event.startsWith('event:'))
    expect(told.map((event) => event.split('\n')[0])).toEqual(['event: state', 'event: progress', 'event: state'])
    const envelopes = told.map((event) => JSON.parse(event.split('\ndata: ')[1] ?? '') as object)
    for (const envelope of envelopes) expect(envelope).toMatchObject({ requestId: 'paint-1', sessionId: 's1' })
    expect(envelopes.at(-1)).toMatchObject({ state: 'complete', result: { color: 'blue' } })
  })

  test('tell what was reported last, however short before the end', async () => {
    const gate = createGate<void>()
    const paint = operation('v1:walls.paint', {
      model: 'async',
      async run(_args, ctx) {
        await gate.pass()
        ctx.progress(0.5, 'one wall')
        ctx.progress(1, 'all walls')
        return 'painted'
      },
    })
    const site = await startSite({ operations: [paint] })
    await site.call('v1:walls.paint', {}, { requestId: 'paint-1' })
    const events = await openEvents(await site.request('/ops/paint-1/events'))
    await events.until('"state":"pending"')

    gate.open()
    const told = (await events.rest()).split('\n\n').filter((event) => event.startsWith('event:'))

    expect(told.at(-2)).toMatch(/^event: progress\n.*"state":"pending".*"fraction":1,"message":"all walls"/)
    expect(told.at(-1)).toMatch(/^event: state\n.*"state":"complete","result":"painted"/)
  })

  test('around a retry have the number of their attempt, come once, and start again with the next attempt', async () => {
    const clock = createStepClock()
    const [failing, anew, rest] = [createGate<void>(), createGate<void>(), createGate<void>()]
    const paint = operation('v1:walls.paint', {
      model: 'async',
      retry: { attempts: 2, backoffMs: 200 },
      async run(_args, ctx) {
        if (ctx.attempt === 1) {
          ctx.progress(0.5)
          await failing.pass()
          throw new Fault('upstream', 'Out of paint.')
        }
        await anew.pass()
        ctx.progress(0.25)
        await rest.pass()
        return 'painted'
      },
    })
    const site = await startSite({ operations: [paint], clock })
    await site.call('v1:walls.paint', {}, { requestId: 'paint-1' })
    const events = await openEvents(await site.request('/ops/paint-1/events'))
    await events.until('"fraction":0.5')
    failing.open()
    await clock.timer(200)
    const between = await site.poll('paint-1')
    clock.advance(200)
    await events.until('"attempt":2')
    // Progress is stored ten times a second at the most.
    clock.advance(100)
    anew.open()
    await events.until('"fraction":0.25')
    rest.open()

    const told = (await events.rest()).split('\n\n').filter((event) => event.startsWith('event:'))
    const envelopes = told.map((event) => JSON.parse(event.split('\ndata: ')[1] ?? '') as ResponseEnvelope)
    const progress = envelopes.flatMap((envelope) => envelope.progress ?? [])
    expect(between.body.progress).toEqual({ fraction: 0.5, attempt: 1 })
    expect(progress).toEqual([
      { fraction: 0.5, attempt: 1 },
      { fraction: 0, attempt: 2 },
      { fraction: 0.25, attempt: 2 },
    ])
    expect(envelopes.at(-1)).toMatchObject({ state: 'complete', result: 'painted' })
  })

  test('of an ended call are its end; a reader that leaves does not affect others', async () => {
    const gate = createGate<number>()
    const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [build] })
    await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
    const events = await openEvents(await site.request('/ops/build-1/events'))
    await events.until('pending')

    await events.leave()
    gate.open(5)
    await site.ended('build-1')
    const late = await (await site.request('/ops/build-1/events')).text()

    expect(late.match(/^event:/gm)).toHaveLength(1)
    expect(late).toContain('"result":5')
  })
})

describe('cancel', () => {
  test('reaches the handler, and the call ends as canceled', async () => {
    verifies('opencall:292')
    const began = Promise.withResolvers<void>()
    const listen = operation('v1:radio.listen', {
      model: 'async',
      run: (_args, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(new Error('turned off')))
          began.resolve()
        }),
    })
    const site = await startSite({ operations: [listen] })
    await site.call('v1:radio.listen', {}, { requestId: 'radio-1' })
    await began.promise

    const canceled = await answered(await site.request('/ops/radio-1', { method: 'DELETE' }))

    expect(canceled).toMatchObject({ status: 200, body: { state: 'error', error: { code: 'CANCELED' } } })
    expect((await site.poll('radio-1')).body).toEqual(canceled.body)
  })

  test('does not wait for a handler that does not listen', async () => {
    verifies('opencall:292')
    const gate = createGate<number>()
    const deaf = operation('v1:radio.deaf', { model: 'async', run: () => gate.pass() })
    // The clock stands still.
    const site = await startSite({ operations: [deaf], clock: createStepClock() })
    await site.call('v1:radio.deaf', {}, { requestId: 'radio-1' })
    await gate.began

    const canceled = await answered(await site.request('/ops/radio-1', { method: 'DELETE' }))
    gate.open(5)

    expect(canceled.body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
    expect((await site.poll('radio-1')).body).toEqual(canceled.body)
  })

  test('of what has ended changes nothing', async () => {
    verifies('opencall:291', 'opencall:292')
    const build = operation('v1:jobs.build', { model: 'async', run: () => 5 })
    const site = await startSite({ operations: [build] })
    await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
    await site.ended('build-1')

    const answer = await answered(await site.request('/ops/build-1', { method: 'DELETE' }))

    expect(answer).toMatchObject({ status: 200, body: { state: 'complete', result: 5 } })
  })
})

test('a refusal about an existing call has its session: no chunks, a bad cursor, too many polls', async () => {
  verifies('opencall:131', 'opencall:174')
  const plain = operation('v1:rows.count', { ttlSeconds: 60, run: () => 3 })
  const text = operation('v1:rows.print', { ttlSeconds: 60, chunked: { mimeType: 'text/plain' }, run: () => ['rows'] })
  const limits = { pollBurst: 1, pollIntervalMs: 60_000 }
  const site = await startSite({ operations: [plain, text], limits, clock: createStepClock() })
  await site.call('v1:rows.count', {}, { requestId: 'count-1', sessionId: 'month-end' })
  await site.call('v1:rows.print', {}, { requestId: 'print-1', sessionId: 'month-end' })
  await site.poll('count-1')

  const none = await answered(await site.request('/ops/count-1/chunks'))
  const cursor = await answered(await site.request('/ops/print-1/chunks?cursor=nonsense'))
  const often = await site.poll('count-1')
  const unknown = await answered(await site.request('/ops/nobody-1/chunks'))

  expect(none).toMatchObject({
    status: 404,
    body: { requestId: 'count-1', sessionId: 'month-end', state: 'error', error: { code: 'NOT_FOUND' } },
  })
  expect(cursor).toMatchObject({ status: 400, body: { sessionId: 'month-end', error: { code: 'INVALID_CURSOR' } } })
  expect(often).toMatchObject({ status: 429, body: { sessionId: 'month-end', error: { code: 'RATE_LIMITED' } } })
  expect(unknown.status).toBe(404)
  expect(unknown.body).not.toHaveProperty('sessionId')
})

test('for a public call without chunks, the error says so and does not ask for a credential', async () => {
  const open = operation('v1:rows.count', { public: true, ttlSeconds: 60, run: () => 3 })
  const { hash } = createToken()
  const tokens = [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: [] }]
  const site = await startSite({ operations: [open], auth: { tokens } })
  await site.call('v1:rows.count', {}, { requestId: 'count-1' })

  expect((await site.request('/ops/count-1/chunks')).status).toBe(404)
  expect((await site.request('/ops/other-1/chunks')).status).toBe(401)
})
