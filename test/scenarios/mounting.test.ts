/** The listener inside another HTTP server, and the paths for operators. */
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  get,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { createServer, createToken, operation, type ServerOptions } from 'callplane'
import express from 'express'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { callerOf, startSite, temporaryFolder } from './server.ts'

const build = operation('v1:jobs.build', { model: 'async', run: () => 'built' })
const draw = operation('v1:art.draw', { run: (_args, ctx) => ctx.object('art', { mimeType: 'text/plain' }) })

async function listenWith(listener?: RequestListener): Promise<{ http: Server; origin: string }> {
  const http = createHttpServer(listener).listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  return { http, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
}

async function createListener(options: Partial<ServerOptions> = {}): Promise<RequestListener> {
  const server = await createServer({ operations: [build, draw], data: temporaryFolder(), ...options })
  onTestFinished(() => server.close(0))
  return server.listener
}

describe('mounted', () => {
  test('in a bare http.createServer it answers every path', async () => {
    verifies('opencall:006', 'opencall:080', 'opencall:147')
    const { origin } = await listenWith(await createListener())
    const site = callerOf(origin)

    const accepted = await site.call('v1:jobs.build', {}, { requestId: 'build-1' })

    expect(accepted.body.location?.uri).toBe(`${origin}/ops/build-1`)
    expect((await site.ended('build-1')).body.result).toBe('built')
    expect((await site.request('/none')).status).toBe(404)
  })

  test('in Express below a prefix it names its own addresses with the prefix, and leaves other paths alone', async () => {
    verifies('opencall:006', 'opencall:080', 'opencall:148')
    const app = express()
    const { origin } = await listenWith(app)
    app.use('/api', await createListener())
    app.use((_request, response) => void response.status(418).send('somebody else'))
    const site = callerOf(`${origin}/api`)

    const accepted = await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
    const drawn = await site.call('v1:art.draw')

    expect(accepted.body.location?.uri).toBe(`${origin}/api/ops/build-1`)
    expect((await site.ended('build-1')).body.result).toBe('built')
    expect(await (await fetch(drawn.body.location?.uri ?? '')).text()).toBe('art')
    expect((await fetch(`${origin}/api/none`)).status).toBe(418)
    expect((await fetch(`${origin}/call`, { method: 'POST' })).status).toBe(418)
  })

  test('behind a proxy it names the public address, and a signed link still holds', async () => {
    verifies('opencall:148', 'opencall:242')
    const { token, hash } = createToken()
    const app = express()
    const { origin } = await listenWith(app)
    const auth = { tokens: [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: [] }] }
    const publicUrl = 'https://tools.example/v7/'
    app.use('/inner', await createListener({ auth, publicUrl }))
    const site = callerOf(`${origin}/inner`)
    const headers = { Authorization: `Bearer ${token}`, Prefer: 'redirect' }

    const accepted = await site.call('v1:jobs.build', {}, { requestId: 'build-1' }, { headers })
    const drawn = await site.call('v1:art.draw', {}, undefined, { headers })
    const link = drawn.headers.get('Location') ?? ''

    expect(accepted.body.location?.uri).toBe('https://tools.example/v7/ops/build-1')
    expect(drawn.status).toBe(303)
    expect(link).toMatch(/^https:\/\/tools\.example\/v7\/objects\//)
    expect(await (await fetch(link.replace('https://tools.example/v7', `${origin}/inner`))).text()).toBe('art')
  })

  test('after a body parser it says what is wrong instead of waiting for a body that was eaten', async () => {
    verifies('opencall:103', 'opencall:139')
    const app = express()
    const { origin } = await listenWith(app)
    app.use(express.json())
    app.use(await createListener())

    const { status, body } = await callerOf(origin).call('v1:jobs.build', {}, { requestId: 'build-1' })

    expect(status).toBe(500)
    expect(body.error).toMatchObject({
      code: 'PANIC_BODY_ALREADY_READ',
      message: expect.stringContaining('before any body parser'),
    })
  })
})

describe('in Hono below a path', () => {
  const basePath = '/api'

  async function listenOnHono(mount: (app: Hono, handle: (request: Request) => Promise<Response>) => void) {
    const server = await createServer({ operations: [build, draw], data: temporaryFolder(), basePath })
    onTestFinished(() => server.close(0))
    const app = new Hono()
    mount(app, server.fetch)
    return listenWith(getRequestListener(app.fetch))
  }

  test.each<[string, Parameters<typeof listenOnHono>[0]]>([
    ['mount, which takes the path off', (app, handle) => app.mount('/api', handle)],
    ['a route, which leaves it on', (app, handle) => app.all('/api/*', (context) => handle(context.req.raw))],
  ])('by %s, links carry the path and can be followed', async (_how, mount) => {
    verifies('opencall:080', 'opencall:148')
    const { origin } = await listenOnHono(mount)
    const site = callerOf(`${origin}/api`)

    const accepted = await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
    const drawn = await site.call('v1:art.draw')

    expect(accepted.body.location?.uri).toBe(`${origin}/api/ops/build-1`)
    expect((await site.ended('build-1')).body.result).toBe('built')
    expect(await (await fetch(drawn.body.location?.uri ?? '')).text()).toBe('art')
  })

  test('the listener takes it with and without the path, and Express does not add it twice', async () => {
    const app = express()
    const { origin } = await listenWith(app)
    app.use('/api', await createListener({ basePath }))
    const bare = await listenWith(await createListener({ basePath }))

    const inExpress = await callerOf(`${origin}/api`).call('v1:jobs.build', {}, { requestId: 'build-1' })
    const withPath = await callerOf(`${bare.origin}/api`).call('v1:jobs.build', {}, { requestId: 'build-1' })
    const without = await callerOf(bare.origin).call('v1:jobs.build', {}, { requestId: 'build-2' })

    expect(inExpress.body.location?.uri).toBe(`${origin}/api/ops/build-1`)
    expect(withPath.body.location?.uri).toBe(`${bare.origin}/api/ops/build-1`)
    expect(without.body.location?.uri).toBe(`${bare.origin}/api/ops/build-2`)
    expect((await fetch(`${bare.origin}/apis/call`, { method: 'POST' })).status).toBe(404)
  })

  test('links over a connection that is not HTTP contain the path, too', async () => {
    const server = await createServer({ operations: [draw], data: temporaryFolder(), basePath })
    onTestFinished(() => server.close(0))
    const { url } = await server.listen({ port: 0 })
    const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })]
    const served = server.serveOpenCall({ input, output })

    input.end('{"op":"v1:art.draw","args":{}}\n')
    await served
    const { location } = JSON.parse(output.read())

    expect(location.uri).toMatch(`${url}/api/objects/`)
    expect(await (await fetch(location.uri)).text()).toBe('art')
  })

  test.each(['api', '/', '/api?x', '/tools', '/call/more', '//api'])('"%s" is refused at the start', async (wrong) => {
    await expect(createListener({ basePath: wrong })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('basePath'),
    })
  })
})

describe('for operators', () => {
  const { token, hash } = createToken()
  const poor = createToken()
  const auth = {
    tokens: [
      { hash, kind: 'bearer' as const, subject: 'ops', scopes: ['callplane:metrics'] },
      { hash: poor.hash, kind: 'bearer' as const, subject: 'ada', scopes: [] },
    ],
  }

  test('health and readiness need no credential; metrics need their scope', async () => {
    verifies('opencall:110', 'opencall:111')
    const site = await startSite({ operations: [build], auth })
    const as = (credential: string) => ({ headers: { Authorization: `Bearer ${credential}` } })
    await site.call('v1:jobs.build', {}, { requestId: 'build-1' }, as(token))
    await site.ended('build-1', as(token).headers)

    const answers = await Promise.all([
      site.request('/health'),
      site.request('/ready'),
      site.request('/metrics'),
      site.request('/metrics', as(poor.token)),
      site.request('/metrics', as(token)),
    ])

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 403, 200])
    const metrics = await (answers[4] as Response).text()
    expect(metrics).toMatch(/callplane_\w+\{[^}]*operation="v1:jobs\.build[^}]*\} 1/)
    expect(metrics).toContain('callplane_open_calls 0')
    expect(metrics).not.toContain(token)
  })

  test('each request is a log line without its query, its credential or its body', async () => {
    const lines: LogLine[] = []
    const gone = Promise.withResolvers<void>()
    const memory = createMemoryLog(lines)
    const log = {
      ...memory,
      info(fields: object, message: string) {
        memory.info(fields, message)
        if (lines.filter((line) => line.message === 'request').length === 2) gone.resolve()
      },
    }
    const site = await startSite({ operations: [build], auth, log, requestLog: true })

    await site.call('v1:jobs.build', { card: '4111-1111' }, undefined, {
      headers: { Authorization: `Bearer ${token}` },
    })
    await (await site.request(`/objects/x.y?expires=1&signature=${token}`)).text()
    await gone.promise

    expect(lines.filter(({ message }) => message === 'request')).toEqual([
      {
        level: 'info',
        message: 'request',
        fields: { method: 'POST', path: '/call', status: 202, durationMs: expect.any(Number) },
      },
      {
        level: 'info',
        message: 'request',
        fields: { method: 'GET', path: '/objects/x.y', status: 401, durationMs: expect.any(Number) },
      },
    ])
    expect(JSON.stringify(lines)).not.toMatch(/4111|cp_/)
  })

  test('without authentication nothing but loopback is listened on or answered', async () => {
    const site = await startSite({ operations: [build] })
    await expect(site.server.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/loopback only/)

    // `fetch` sends no Host but its own.
    const { port } = new URL(site.url)
    const asking = get({ host: '127.0.0.1', port, path: '/.well-known/ops', headers: { Host: 'evil.example' } })
    const [rebound] = (await once(asking, 'response')) as [IncomingMessage]
    rebound.resume()

    expect(rebound.statusCode).toBe(403)
  })
})
