/** `POST /ops/{path}/{version}` of OpenCALL's later revision, over every carrier of HTTP, and beside the paths of calls. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { createServer, createToken, jsonSchema, operation, removed } from 'callplane'
import express from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { answered, callerOf, createGate, startSite, temporaryFolder } from '../../scenarios/server.ts'

const sum = jsonSchema<{ a: number; b: number }>({
  type: 'object',
  required: ['a', 'b'],
  properties: { a: { type: 'number' }, b: { type: 'number' } },
})
const add = operation('v1:math.basic.add', { args: sum, run: ({ a, b }) => a + b })
const ping = operation('v1:ping', { run: () => 'pong' })
const chunks = operation('v1:chunks', { run: () => 'not the chunks of a call' })
const build = operation('v1:jobs.build', { model: 'async', run: () => 'built' })
const describeFile = operation('v1:files.describe', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 100 }],
  run: async (_args, ctx) => (await ctx.media.file.bytes()).length,
})
const watch = operation('v1:device.watch', { frame: jsonSchema({ type: 'number' }), run: () => [1, 2] })
const operations = [add, ping, chunks, build, describeFile, watch, removed('v1:gone', { on: '2026-01-01' })]

const JSON_TYPE = { 'Content-Type': 'application/json' }
const posting = (body: unknown, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
})

/** Sends a request target as it is: fetch would normalize it. */
async function rawPost(url: string, target: string): Promise<{ status: number; body: ResponseEnvelope }> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(
    `POST ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
  )
  const reply = await text(socket)
  return { status: Number(reply.split(' ')[1]), body: JSON.parse(reply.slice(reply.indexOf('{'))) }
}

describe('an operation is called by its path', () => {
  test('with its name in segments, or as one segment', async () => {
    const site = await startSite({ operations })
    const args = { a: 1, b: 2 }

    for (const path of ['/ops/math/basic/add/v1', '/ops/math.basic.add/v1', '/ops/math/basic.add/v1']) {
      const { status, body } = await answered(await site.request(path, posting({ args, ctx: { sessionId: 's' } })))

      expect([path, status, body]).toEqual([
        path,
        200,
        {
          requestId: expect.any(String),
          state: 'complete',
          sessionId: 's',
          result: 3,
          meta: { op: 'v1:math.basic.add', durationMs: expect.any(Number) },
        },
      ])
    }
    const bare = await answered(await site.request('/ops/ping/v1', posting({})))
    expect(bare.body.result).toBe('pong')
  })

  test('an op in the envelope must be the one of the path, in either form', async () => {
    const site = await startSite({ operations })
    const send = async (op: unknown) => answered(await site.request('/ops/ping/v1', posting({ op })))

    expect((await send('v1:ping')).body.result).toBe('pong')
    expect((await send('ping:v1')).body.result).toBe('pong')
    for (const op of ['v2:ping', 'v1:math.basic.add', '', 7, null]) {
      expect(await send(op)).toMatchObject({
        status: 400,
        body: { state: 'error', error: { code: 'INVALID_REQUEST', cause: { field: 'op' } } },
      })
    }
  })

  test('async calls, streams, Prefer and repeats are as at /call', async () => {
    const site = await startSite({ operations })
    const ctx = { requestId: 'b-1' }

    const waited = await answered(await site.request('/ops/jobs/build/v1', posting({ ctx }, { Prefer: 'wait=30' })))
    const again = await site.call('v1:jobs.build', {}, ctx)
    const stream = await answered(await site.request('/ops/device/watch/v1', posting({})))

    expect([waited.status, waited.body.result]).toEqual([200, 'built'])
    expect(again.body).toEqual({ requestId: 'b-1', state: 'complete', result: 'built', expiresAt: expect.any(Number) })
    expect([stream.status, stream.body.state, stream.body.meta?.op]).toEqual([202, 'streaming', 'v1:device.watch'])
    expect((await site.poll('b-1')).body.meta).toBeUndefined()
  })

  test('with attachments', async () => {
    const site = await startSite({ operations })
    const form = new FormData()
    form.set('envelope', JSON.stringify({ media: [{ name: 'file', mimeType: 'text/plain', part: 'f' }] }))
    form.set('f', new Blob(['four'], { type: 'text/plain' }), 'f.txt')

    const { body } = await answered(await site.request('/ops/files/describe/v1', { method: 'POST', body: form }))

    expect(body).toMatchObject({ state: 'complete', result: 4, meta: { op: 'v1:files.describe' } })
  })

  test('by its declared credential and scopes only', async () => {
    const { token, hash } = createToken()
    const secret = operation('v1:vault.open', { scopes: ['vault'], run: () => 'open' })
    const site = await startSite({
      operations: [secret],
      auth: { tokens: [{ kind: 'bearer', hash, subject: 'eve', scopes: [] }] },
    })
    const send = (headers = {}) => site.request('/ops/vault/open/v1', posting({}, headers))

    expect((await send()).status).toBe(401)
    expect((await send({ Authorization: `Bearer ${token}` })).status).toBe(403)
  })
})

describe('beside the paths of calls', () => {
  test('a call and an operation may have the same name', async () => {
    const gate = createGate()
    const held = operation('v1:held', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [held, chunks] })
    await site.call('v1:held', {}, { requestId: 'chunks' })

    const polled = await site.poll('chunks')
    const called = await answered(await site.request('/ops/chunks/v1', posting({})))
    gate.open('done')

    expect(polled.body).toMatchObject({ requestId: 'chunks', state: expect.stringMatching(/accepted|pending/) })
    expect(called.body.result).toBe('not the chunks of a call')
  })

  test.each([
    ['GET', '/ops/ping/v1', 405, 'POST'],
    ['DELETE', '/ops/math/basic/add/v1', 405, 'POST'],
    ['GET', '/ops/none/v1', 405, 'POST'],
    ['POST', '/ops/ping', 405, 'GET, DELETE, HEAD'],
    ['POST', '/ops/ping/chunks', 405, 'GET, HEAD'],
    ['POST', '/ops/ping/latest', 404, null],
    ['GET', '/ops/ping/latest', 404, null],
    ['POST', '/ops/v1/ping', 404, null],
    ['POST', '/ops/v1', 405, 'GET, DELETE, HEAD'],
    ['POST', '/ops/ping/v1/', 404, null],
    ['POST', '/ops//v1', 404, null],
  ])('%s %s is %i', async (method, path, status, allow) => {
    const site = await startSite({ operations })

    const response = await site.request(path, { method, headers: JSON_TYPE, ...(method === 'POST' && { body: '{}' }) })

    expect([response.status, response.headers.get('allow')]).toEqual([status, allow])
    expect(await response.json()).toMatchObject({ state: 'error', requestId: expect.any(String) })
  })

  test('OPTIONS names POST, and a preflight is answered for named origins only', async () => {
    const site = await startSite({ operations, cors: { origins: ['https://app.example'] } })
    const preflight = (origin: string) =>
      site.request('/ops/ping/v1', {
        method: 'OPTIONS',
        headers: { Origin: origin, 'Access-Control-Request-Headers': 'idempotency-key' },
      })

    const own = await preflight('https://app.example')
    const other = await preflight('https://evil.example')
    const post = await site.request('/ops/ping/v1', posting({}, { Origin: 'https://evil.example' }))

    expect([own.status, own.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
    expect(own.headers.get('access-control-allow-methods')).toBe('POST')
    expect(own.headers.get('access-control-allow-headers')).toBe('idempotency-key')
    expect(other.headers.get('access-control-allow-methods')).toBeNull()
    expect([post.status, (await answered(post)).body.error?.code]).toEqual([403, 'CROSS_SITE'])
  })
})

describe('bad input', () => {
  const refused: [target: string, status: number, code: string][] = [
    ['/ops/none/v1', 400, 'UNKNOWN_OP'],
    ['/ops/ping/v2', 400, 'UNKNOWN_OP'],
    ['/ops/ping/v0', 400, 'UNKNOWN_OP'],
    ['/ops/ping/v01', 400, 'UNKNOWN_OP'],
    [`/ops/ping/v${'9'.repeat(400)}`, 400, 'UNKNOWN_OP'],
    ['/ops/gone/v1', 410, 'OP_REMOVED'],
    ['/ops/math%2Fbasic%2Fadd/v1', 400, 'UNKNOWN_OP'],
    ['/ops/math%2Ebasic%2Eadd/v1', 400, 'UNKNOWN_OP'],
    ['/ops/%70ing/v1', 400, 'UNKNOWN_OP'],
    ['/ops/%zz/v1', 400, 'UNKNOWN_OP'],
    ['/ops/../ops/ping/v1', 400, 'UNKNOWN_OP'],
    ['/ops/./ping/v1', 400, 'UNKNOWN_OP'],
    ['/ops/v1:ping/v1', 400, 'UNKNOWN_OP'],
    ['/ops/ping@1.0.0/v1', 404, 'NOT_FOUND'],
    ['/ops/__proto__/v1', 400, 'UNKNOWN_OP'],
    [`/ops/${'a/'.repeat(2_000)}v1`, 400, 'UNKNOWN_OP'],
    ['/ops/%2e%2e/call', 404, 'NOT_FOUND'],
  ]
  const titled = refused.map(([target, ...rest]) => [target.slice(0, 40), target, ...rest] as const)

  test.each(titled)('%s is refused', async (_title, target, status, code) => {
    const site = await startSite({ operations })

    const reply = await rawPost(site.url, target)

    expect([reply.status, reply.body.error?.code]).toEqual([status, code])
    expect(JSON.stringify(reply.body).length).toBeLessThan(1_000)
  })

  test('a body that is no envelope, and a type that a form can send, are refused', async () => {
    const site = await startSite({ operations })
    const send = async (body: string, type: string) =>
      answered(await site.request('/ops/ping/v1', { method: 'POST', headers: { 'Content-Type': type }, body }))

    for (const [body, type, code] of [
      ['', 'application/json', 'INVALID_JSON'],
      ['[]', 'application/json', 'INVALID_REQUEST'],
      ['{"args":[]}', 'application/json', 'INVALID_REQUEST'],
      ['{}', 'text/plain', 'UNSUPPORTED_CONTENT_TYPE'],
      ['{}', 'application/x-www-form-urlencoded', 'UNSUPPORTED_CONTENT_TYPE'],
    ] as const) {
      const reply = await send(body, type)
      expect([body, reply.status, reply.body.error?.code]).toEqual([body, 400, code])
    }
  })
})

describe('mounted', () => {
  test('below a prefix of Express, where other paths stay with the host', async () => {
    const server = await createServer({ operations, data: temporaryFolder() })
    onTestFinished(() => server.close(0))
    const app = express()
    app.use('/api', server.listener)
    app.use((_request, response) => void response.status(418).json({}))
    const http = createHttpServer(app).listen(0, '127.0.0.1')
    await once(http, 'listening')
    onTestFinished(() => void http.close().closeAllConnections())
    const site = callerOf(`http://127.0.0.1:${(http.address() as AddressInfo).port}/api`)

    const called = await answered(await site.request('/ops/jobs/build/v1', posting({ ctx: { requestId: 'b' } })))
    const others = await Promise.all(['/ops/a/b', '/ops/a/b/c'].map((path) => site.request(path)))

    expect(called.body.location?.uri).toBe(`${site.url}/ops/b`)
    expect(others.map(({ status }) => status)).toEqual([418, 418])
  })

  test('in a fetch handler', async () => {
    const server = await createServer({ operations, data: temporaryFolder(), basePath: '/api' })
    onTestFinished(() => server.close(0))
    const send = (path: string, init?: RequestInit) => server.fetch(new Request(`http://localhost${path}`, init))

    const called = await answered(await send('/api/ops/math/basic/add/v1', posting({ args: { a: 2, b: 3 } })))
    const refused = await send('/api/ops/math/basic/add/v1')
    const unknown = await send('/api/ops/math/basic/add')

    expect(called.body).toMatchObject({ result: 5, meta: { op: 'v1:math.basic.add' } })
    expect([refused.status, refused.headers.get('allow'), unknown.status]).toEqual([405, 'POST', 404])
  })
})
