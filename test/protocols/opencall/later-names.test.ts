/** Names with the version as suffix, the header `Idempotency-Key`, and `meta`, of OpenCALL's later revision. */
import { jsonSchema, operation } from 'callplane'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isName, registeredName } from '../../../src/core/operation/names.ts'
import { operationIn } from '../../../src/protocols/opencall/index.ts'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'
import { createMessagePair } from '../../../src/testing/fakes/message-pair.ts'
import { createGate, createStepClock, startSite } from '../../scenarios/server.ts'

describe('a name with its version as suffix', () => {
  const ping = operation('v1:it.ping', { run: () => 'pong' })

  test('is an alias at /call, and its response has meta', async () => {
    const site = await startSite({ operations: [ping] })

    const later = await site.call('it.ping:v1')
    const earlier = await site.call('v1:it.ping')

    expect(later.body).toMatchObject({
      result: 'pong',
      meta: { op: 'v1:it.ping', durationMs: expect.any(Number) },
    })
    expect(earlier.body).toEqual({ requestId: expect.any(String), state: 'complete', result: 'pong' })
  })

  test('is the same operation for repeats and keys', async () => {
    let runs = 0
    const count = operation('v1:it.counts', { sideEffecting: true, run: () => ++runs })
    const site = await startSite({ operations: [count] })

    const first = await site.call('v1:it.counts', {}, { requestId: 'a', idempotencyKey: 'k' })
    const repeated = await site.call('it.counts:v1', {}, { requestId: 'a', idempotencyKey: 'k' })
    const keyed = await site.call('it.counts:v1', {}, { requestId: 'b', idempotencyKey: 'k' })

    expect([first, repeated, keyed].map(({ body }) => body.result)).toEqual([1, 1, 1])
  })

  test.each(['it.ping:v2', 'it.ping:v0', 'it.ping:v01', 'it.ping', ':v1', 'it.ping:V1', 'it.ping:v1:v1', 'it ping:v1'])(
    'in another form is unknown: %s',
    async (op) => {
      const site = await startSite({ operations: [ping] })

      expect(await site.call(op)).toMatchObject({ status: 400, body: { error: { code: 'UNKNOWN_OP' } } })
    },
  )

  test('is understood on message connections, also by the operations that replace addresses', async () => {
    const gate = createGate()
    const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
    const watch = operation('v1:it.shows', { frame: jsonSchema({ type: 'number' }), run: () => [1] })
    const { server, url } = await startSite({ operations: [ping, build, watch] })
    const pair = createMessagePair(server.sessions.opencall, {
      peer: { header: () => undefined },
      origin: url,
      log: createMemoryLog([]),
    })
    onTestFinished(() => pair.close())
    const next = async () => JSON.parse(String(await pair.read())) as ResponseEnvelope
    const send = (op: string, requestId: string, args = {}) =>
      void pair.send(JSON.stringify({ op, args, ctx: { requestId } }))

    send('it.ping:v1', 'p')
    expect(await next()).toMatchObject({ requestId: 'p', result: 'pong', meta: { op: 'v1:it.ping' } })
    send('jobs.build:v1', 'b')
    expect(await next()).toMatchObject({ requestId: 'b', state: 'accepted', meta: { op: 'v1:jobs.build' } })
    await gate.began
    gate.open('built')
    const states: ResponseEnvelope[] = []
    while (states.at(-1)?.state !== 'complete') states.push(await next())
    expect(states.filter(({ meta }) => meta !== undefined)).toEqual([])
    send('getOperation:v1', 'g', { requestId: 'b' })
    expect(await next()).toMatchObject({ requestId: 'g', result: { requestId: 'b', result: 'built' } })
    send('it.shows:v1', 's')
    expect(await next()).toMatchObject({ requestId: 's', state: 'streaming', meta: { op: 'v1:it.shows' } })
    send('unsubscribeFromStream:v1', 'u', { requestId: 's' })
    const told = [await next(), await next()].map(({ requestId, state }) => `${requestId} ${state}`)
    expect(told.sort()).toEqual(['s complete', 'u complete'])
  })

  test('may be the last level of an MQTT topic', () => {
    expect(['ops/it.ping:v1', 'ops/v1:it.ping', 'ops/it.ping%3Av1'].map(operationIn)).toEqual(
      Array(3).fill('v1:it.ping'),
    )
  })

  test('maps to one name, and names of the registry stay as they are', () => {
    const word = fc.stringMatching(/^[A-Za-z][\w-]{0,8}$/)
    const name = fc.tuple(fc.integer({ min: 1, max: 999_999_999 }), fc.array(word, { minLength: 1, maxLength: 4 }))

    fc.assert(
      fc.property(name, ([major, words]) => {
        const path = words.join('.')
        const full = `v${major}:${path}`
        expect(registeredName(full)).toBe(full)
        // A single word such as `v2` can be read as a version.
        if (!isName(`${path}:v${major}`)) expect(registeredName(`${path}:v${major}`)).toBe(full)
      }),
    )
    expect(registeredName('v2:v1')).toBe('v2:v1')
  })
})

describe('meta', () => {
  test('has the time from the envelope to the response, also of a failure', async () => {
    const clock = createStepClock()
    const slow = operation('v1:it.dawdles', {
      async run(_args, ctx) {
        clock.advance(40)
        return ctx.fail('TIRED', 'Not today.')
      },
    })
    const site = await startSite({ operations: [slow], clock })

    const { body } = await site.call('it.dawdles:v1')

    expect(body).toMatchObject({
      state: 'error',
      error: { code: 'TIRED' },
      meta: { op: 'v1:it.dawdles', durationMs: 40 },
    })
  })
})

describe('the header Idempotency-Key', () => {
  const start = async () => {
    let runs = 0
    const args = jsonSchema<{ n?: number }>({ type: 'object' })
    const count = operation('v1:it.counts', { args, sideEffecting: true, run: () => ++runs })
    const site = await startSite({ operations: [count] })
    return (key: string | undefined, ctx?: { idempotencyKey?: string }, args = {}) =>
      site.call('v1:it.counts', args, ctx, { headers: key === undefined ? {} : { 'Idempotency-Key': key } })
  }

  test('is the key of the call, plain or as a quoted string, and the same as the one in ctx', async () => {
    const send = await start()

    const replies = [
      await send('k-1'),
      await send('"k-1"'),
      await send('k-1', { idempotencyKey: 'k-1' }),
      await send(undefined, { idempotencyKey: 'k-1' }),
      await send('"k \\"2\\", and more"'),
      await send(undefined, { idempotencyKey: 'k "2", and more' }),
    ]
    const reused = await send('k-1', {}, { n: 1 })
    const missing = await send(undefined)

    expect(replies.map(({ body }) => body.result)).toEqual([1, 1, 1, 1, 2, 2])
    expect(reused.body.error?.code).toBe('IDEMPOTENCY_KEY_REUSED')
    expect(missing.body.error?.code).toBe('IDEMPOTENCY_KEY_REQUIRED')
  })

  const refusals: [key: string, code: string][] = [
    ['', 'IDEMPOTENCY_KEY_INVALID'],
    ['""', 'IDEMPOTENCY_KEY_INVALID'],
    ['"open', 'IDEMPOTENCY_KEY_INVALID'],
    ['two words', 'IDEMPOTENCY_KEY_INVALID'],
    ['k-1, k-2', 'IDEMPOTENCY_KEY_INVALID'],
    ['"k-1", "k-2"', 'IDEMPOTENCY_KEY_INVALID'],
    ['é', 'IDEMPOTENCY_KEY_INVALID'],
    ['k'.repeat(257), 'IDEMPOTENCY_KEY_INVALID'],
    [`"${'k'.repeat(257)}"`, 'IDEMPOTENCY_KEY_INVALID'],
    ['k-2', 'IDEMPOTENCY_KEY_MISMATCH'],
    ['K-1', 'IDEMPOTENCY_KEY_MISMATCH'],
  ]
  const titled = refusals.map(([key, code]) => [key.slice(0, 20), key, code] as const)

  test.each(titled)('is refused before anything runs: %s', async (_title, key, code) => {
    const send = await start()

    const refused = await send(key, { idempotencyKey: 'k-1' })
    const run = await send('k-1')

    expect([refused.status, refused.body.error?.code]).toEqual([400, code])
    expect(run.body.result).toBe(1)
  })

  test('sent twice is refused', async () => {
    const count = operation('v1:it.counts', { sideEffecting: true, run: () => 1 })
    const site = await startSite({ operations: [count] })
    const headers = new Headers({ 'Content-Type': 'application/json' })
    headers.append('Idempotency-Key', 'same')
    headers.append('Idempotency-Key', 'same')

    const response = await site.request('/call', { method: 'POST', headers, body: '{"op":"v1:it.counts"}' })

    expect(await response.json()).toMatchObject({ error: { code: 'IDEMPOTENCY_KEY_INVALID' } })
  })
})
