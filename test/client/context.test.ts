/** What goes with a call: middleware, traces, headers, deadlines and the ids that the caller chose. */
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { createClient } from 'callplane/client'
import { expect, onTestFinished, test } from 'vitest'
import { idIn, json, startLyingServer, type Told } from './lying-server.ts'

interface Operations {
  'v1:ping': { args: { id?: string }; result: string }
}

const pong = (told: Told) => ({ requestId: idIn(told), state: 'complete', result: 'pong' })

test('middleware sees each call and its first response, the first one outermost', async () => {
  const { url, told } = await startLyingServer((one, response) => json(response, 200, pong(one)))
  const seen: string[] = []
  const api = createClient<Operations>({
    url,
    headers: { 'x-app': 'shop' },
    use: [
      async (call, next) => {
        seen.push(`outer ${call.operation}`)
        const envelope = await next(call)
        seen.push(`outer ${envelope.state}`)
        return envelope
      },
      (call, next) => {
        seen.push('inner')
        call.headers['x-inner'] = 'yes'
        return next(call)
      },
    ],
  })

  await api.ping({}, { sessionId: 's1', parentId: 'p1', locale: 'de', idempotencyKey: 'k1', requestId: 'r1' })

  expect(seen).toEqual(['outer v1:ping', 'inner', 'outer complete'])
  expect(told[0]?.headers).toMatchObject({ 'x-app': 'shop', 'x-inner': 'yes' })
  expect(told[0]?.body?.ctx).toEqual({
    sessionId: 's1',
    parentId: 'p1',
    locale: 'de',
    idempotencyKey: 'k1',
    requestId: 'r1',
  })
})

test('a call belongs to the trace of the active span', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => context.disable())
  const { url, told } = await startLyingServer((one, response) => json(response, 200, pong(one)))
  const api = createClient<Operations>({ url })
  const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }

  await api.ping()
  await context.with(trace.setSpan(context.active(), trace.wrapSpanContext(span)), async () => {
    await api.ping()
  })

  expect(told.map(({ body }) => body?.ctx?.traceparent)).toEqual([
    undefined,
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ])
})

test('a signal ends a call at once, and an ended call leaves no timer', async () => {
  const { url } = await startLyingServer(() => {})
  const api = createClient<Operations>({ url })
  const leaving = new AbortController()
  const call = api.ping({}, { signal: leaving.signal, timeoutMs: 3_600_000 })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  await expect.poll(timers).toBeGreaterThan(0)
  const before = timers()

  leaving.abort(new Error('left'))

  await expect(call).rejects.toMatchObject({ code: 'ABORTED', outcome: 'unknown', cause: { message: 'left' } })
  expect(timers()).toBeLessThan(before)
})

test('a client is no promise, and its operations know their names', async () => {
  const api = createClient<Operations>({ url: 'http://127.0.0.1:1' })

  expect(await Promise.resolve(api)).toBe(api)
  expect(api.ping.operation).toBe('v1:ping')
})
