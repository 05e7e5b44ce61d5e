/** The Tool Execution API on the engine: permissions, the tools it lists, and the mount path. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createToken, operation, type ServerOptions } from 'callplane'
import { Hono } from 'hono'
import { describe, expect, test, vi } from 'vitest'
import { verifies } from '../requirements.ts'
import { add, callTool, forecast, on, post } from './rest-client.ts'
import { startSite } from './server.ts'

describe('who may call', () => {
  const { token, hash } = createToken()
  const auth = { tokens: [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: ['a'] }] }
  const bearer = { Authorization: `Bearer ${token}` }

  test('is asked before the request is judged', async () => {
    const site = await startSite({ operations: [add], auth, ...on })
    const badKey = { 'Idempotency-Key': 'a b' }

    const unknown = [await callTool(site, 'math_add', {}, badKey), await callTool(site, 'math_add', [1])]
    const known = await callTool(site, 'math_add', {}, { ...badKey, ...bearer })

    expect(unknown.map(({ status }) => status)).toEqual([401, 401])
    expect([known.status, known.json.structuredContent.code]).toEqual([500, 'INVALID_REQUEST'])
  })

  test('no caller, if the server does not allow execution', async () => {
    verifies('rest:09', 'rest:10', 'rest:51', 'rest:58')
    const site = await startSite({ operations: [add] })

    for (const path of ['/tools/math_add/call', '/tools/none/call', '/explorer/tools/math_add/call']) {
      const { status, text, type } = await post(site, path, { a: 1 })
      expect([status, text, type]).toEqual([403, '{"error":"Tool execution is disabled."}', 'application/json'])
    }
    expect((await post(site, '/tools/math_add/validate', { a: 1 })).json).toEqual({ valid: true })
    expect((await site.call('v1:math.add', { a: 1 })).body.result).toBe(11)
  })

  test('callers that the server knows; others get 401 for every tool that exists', async () => {
    verifies('rest:07', 'rest:08', 'rest:14', 'rest:15', 'rest:53')
    const run = vi.fn(() => 'ran')
    const guarded = operation('v1:it.guards', { run })
    const scoped = operation('v1:it.scopes', { scopes: ['b'], run })
    const open = operation('v1:it.opens', { public: true, run: () => 'open' })
    const site = await startSite({ operations: [guarded, scoped, open], auth, ...on })
    const answer = async (name: string, headers?: Record<string, string>, body: unknown = {}) => {
      const { status, text } = await callTool(site, name, body, headers)
      return [status, text]
    }

    const unauthorized = [401, '{"error":"Unauthorized"}']
    expect(await answer('it_guards')).toEqual(unauthorized)
    expect(await answer('it_guards', { Authorization: 'Bearer wrong' })).toEqual(unauthorized)
    expect(await answer('it_guards', {}, '[1]')).toEqual(unauthorized)
    expect(await answer('it_guards', {}, '{bad')).toEqual(unauthorized)
    expect(await answer('none')).toEqual([404, '{"error":"Tool not found: none"}'])
    expect((await answer('it_scopes', bearer))[0]).toBe(403)
    expect(run).not.toHaveBeenCalled()
    expect((await answer('it_guards', bearer))[0]).toBe(200)
    expect((await answer('it_opens'))[0]).toBe(200)
  })

  test('callers that the hook lets pass, in addition to the server’s authentication', async () => {
    verifies('rest:14', 'rest:15', 'rest:16', 'rest:22')
    const who = new AsyncLocalStorage<string>()
    const rest: ServerOptions['rest'] = {
      allowExecute: true,
      async authHook(request, next) {
        const user = request.headers.get('x-user')
        if (user === null) throw new Error('no user')
        return who.run(user, next)
      },
    }
    const whoami = operation('v1:it.asks', { run: () => who.getStore() ?? 'nobody' })
    const site = await startSite({ operations: [whoami], auth, rest })

    const all = await callTool(site, 'it_asks', {}, { ...bearer, 'X-User': 'ada' })
    const noUser = await callTool(site, 'it_asks', {}, bearer)
    const noToken = await callTool(site, 'it_asks', {}, { 'X-User': 'ada' })

    expect(all.json.content[0].text).toBe('ada')
    expect([noUser.status, noUser.text]).toEqual([401, '{"error":"Unauthorized"}'])
    expect([noToken.status, noToken.text]).toEqual([401, '{"error":"Unauthorized"}'])
  })

  test('no page of another site', async () => {
    const run = vi.fn(() => 'ran')
    const site = await startSite({ operations: [operation('v1:it.runs', { run })], ...on })
    const form = { 'Content-Type': 'text/plain', Origin: 'https://evil.example' }

    const { status, type, json } = await callTool(site, 'it_runs', '{}', form)
    const named = await startSite({
      operations: [operation('v1:it.runs', { run })],
      cors: { origins: ['https://evil.example'] },
      ...on,
    })

    expect([status, type, typeof json.error]).toEqual([403, 'application/json', 'string'])
    expect((await callTool(named, 'it_runs', '{}', form)).status).toBe(403)
    expect(run).not.toHaveBeenCalled()
    expect((await callTool(named, 'it_runs', '{}', { Origin: 'https://evil.example' })).status).toBe(200)
  })
})

describe('what is shown', () => {
  test('at the root and below /explorer is the same', async () => {
    verifies('rest:01', 'rest:33')
    const site = await startSite({ operations: [add, forecast], ...on })

    for (const base of ['', '/explorer']) {
      const detail = await (await site.request(`${base}/tools/math_add`)).json()
      expect(detail).toMatchObject({ name: 'math_add', description: 'Adds.', annotations: { readOnlyHint: true } })
      expect((detail as { inputSchema: object }).inputSchema).toMatchObject({ required: ['a'] })
      expect((await post(site, `${base}/tools/math_add/call`, { a: 1, b: 2 })).json.content[0].text).toBe('3')
      expect((await post(site, `${base}/tools/weather_forecast/validate`, {})).json).toEqual({
        valid: false,
        errors: [{ path: '/city', message: 'is required', keyword: 'required' }],
      })
    }
    expect(await (await site.request('/explorer/tools')).json()).toEqual([
      { name: 'math_add', description: 'Adds.', annotations: { readOnlyHint: true } },
      { name: 'weather_forecast', description: '', annotations: { readOnlyHint: true } },
    ])
  })

  test('is a page, found without its slash as well', async () => {
    const site = await startSite({ operations: [add], rest: { title: 'Sums & more' } })

    const redirect = await site.request('/explorer')
    const page = await (await site.request('/explorer/')).text()

    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'explorer/'])
    expect(page).toContain('<h1>Sums &amp; more</h1>')
    expect(page).toContain('Execution is disabled.')
    const unknown = await site.request('/explorer/none')
    expect([unknown.status, await unknown.json()]).toEqual([404, { error: 'There is nothing at this path.' }])
  })
})

test('the whole server speaks Fetch, too', async () => {
  verifies('rest:01')
  const { server } = await startSite({ operations: [add], hosts: ['tools.example'], ...on })
  const app = new Hono().all('*', (context) => server.fetch(context.req.raw))
  const ask = (path: string, body?: object) =>
    app.request(`http://tools.example${path}`, {
      headers: { 'Content-Type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })

  const rest = await ask('/tools/math_add/call', { a: 1, b: 2 })
  const opencall = await ask('/call', { op: 'v1:math.add', args: { a: 1, b: 2 } })
  const page = await ask('/explorer/')

  expect(await rest.json()).toMatchObject({ structuredContent: { result: 3 } })
  expect(await opencall.json()).toMatchObject({ state: 'complete', result: 3 })
  expect(await page.text()).toContain('http://tools.example/explorer/tools/math_add')
  expect((await app.request('http://evil.example/explorer/tools')).status).toBe(403)
})
