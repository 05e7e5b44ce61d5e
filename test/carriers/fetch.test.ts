/** Behaviour of the Fetch carrier alone: its time limits, its streams, its prefix. */
import { expect, test } from 'vitest'
import { createFetchHandler } from '../../src/carriers/fetch/index.ts'
import type { Fault } from '../../src/core/fault.ts'
import type { Exchange } from '../../src/core/ports/exchange.ts'
import { echo, refuse, route, text } from './http-fixture.ts'

const ask = (path: string, init?: RequestInit) => new Request(`http://tools.example${path}`, init)
const streaming = (body: ReadableStream): RequestInit => ({ method: 'POST', body, duplex: 'half' })

test('a source is read only when the client reads, and no further', async () => {
  let pulled = 0
  async function* endless() {
    for (;;) yield `${++pulled}.`
  }
  const handle = createFetchHandler([route('/it', { GET: () => ({ status: 200, headers: {}, body: endless() }) })], {
    fallback: refuse,
  })

  const reader = (await handle(ask('/it'))).body?.getReader()
  await new Promise(setImmediate)
  const before = pulled
  await reader?.read()
  await new Promise(setImmediate)

  expect([before, pulled]).toEqual([0, 1])
})

test('a body that stops coming is refused when its time is up, and given back to the host', async () => {
  const cancelled = Promise.withResolvers<void>()
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('half')),
    cancel: () => cancelled.resolve(),
  })
  const handle = createFetchHandler([route('/echo', { POST: echo })], { fallback: refuse, bodyTimeoutMs: 20 })

  const reply = await handle(ask('/echo', streaming(body)))

  expect(await reply.json()).toMatchObject({ code: 'BODY_TIMEOUT' })
  await cancelled.promise
})

test('an upload that falls silent is refused', async () => {
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('--b\r\n')) })
  const up = route('/up', {
    POST: async (exchange) => {
      for await (const _part of exchange.parts({ maxParts: 1, maxHeaderBytes: 100 }));
      return text('all')
    },
  })
  const handle = createFetchHandler([up], { fallback: refuse, idleTimeoutMs: 20 })

  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const reply = await handle(ask('/up', { ...streaming(body), headers }))

  expect(await reply.json()).toMatchObject({ code: 'BODY_TIMEOUT' })
})

test('a body that breaks off is a fault', async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('reset by peer')) })
  const handle = createFetchHandler([route('/echo', { POST: echo })], { fallback: refuse })

  expect(await (await handle(ask('/echo', streaming(body)))).json()).toMatchObject({ code: 'BODY_INCOMPLETE' })
})

test('a request that is given up aborts the signal its handler sees', async () => {
  const seen = Promise.withResolvers<Exchange>()
  const controller = new AbortController()
  const wait = route('/wait', {
    GET: async (exchange) => {
      const { signal } = exchange
      seen.resolve(exchange)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return text((signal.reason as Fault).kind)
    },
  })
  const handle = createFetchHandler([wait], { fallback: refuse })

  const pending = handle(ask('/wait', { signal: controller.signal }))
  await seen.promise
  controller.abort()

  expect(await (await pending).text()).toBe('canceled')
})

test('below a prefix nothing else is answered, and one request may have another', async () => {
  const where = route('/where', { GET: (exchange) => text(`${exchange.origin} ${exchange.path}`) })
  const handle = createFetchHandler([where], { fallback: refuse, prefix: '/api' })
  const got = async (path: string, prefix?: string) => (await handle(ask(path), prefix)).text()

  expect(await got('/api/where')).toBe('http://tools.example/api /where')
  expect(await got('/v2/api/where', '/v2/api/')).toBe('http://tools.example/v2/api /where')
  expect(await got('/where')).toContain('PATH')
  expect(await got('/apis/where')).toContain('PATH')
  expect(await got('/api')).toContain('PATH')
})

test('links name the host that the client reached, also if the framework has another one in its URL', async () => {
  const where = route('/where', { GET: (exchange) => text(exchange.origin) })
  const handle = createFetchHandler([where], { fallback: refuse, basePath: '/api' })
  const from = async (headers: Record<string, string>) => {
    return (await handle(new Request('https://localhost:3000/api/where', { headers }))).text()
  }

  expect(await from({ Host: 'tools.example' })).toBe('https://tools.example/api')
  expect(await from({ Host: 'tools.example/evil' })).toBe('https://localhost:3000/api')
  expect(await from({})).toBe('https://localhost:3000/api')
})

test('a protocol compresses nothing here: the host does, and some hosts remove the header that says so', async () => {
  const accepted = route('/it', { GET: (exchange) => text(exchange.header('accept-encoding') ?? 'nothing') })
  const handle = createFetchHandler([accepted], { fallback: refuse })

  expect(await (await handle(ask('/it', { headers: { 'Accept-Encoding': 'gzip' } }))).text()).toBe('nothing')
})

test('a header that was sent twice and joined by the host is refused', async () => {
  const handle = createFetchHandler([route('/it', { GET: () => text('there') })], { fallback: refuse })
  const headers = new Headers([
    ['Host', 'a.example'],
    ['Host', 'b.example'],
  ])

  const response = await handle(new Request('http://a.example/it', { headers }))

  expect(response.status).toBe(400)
  expect(await response.text()).toContain('REPEATED_HEADER')
})
