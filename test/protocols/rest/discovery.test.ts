/** Discovery in the embedding API: lists, details, validation, the page, and the mount path. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createToolHandler, type HostTool, type ToolsProvider } from 'callplane'
import express from 'express'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'
import { verifies } from '../../requirements.ts'
import { answered, openHandler, sunny, WEATHER } from './handler.ts'

const quiet = { log: createMemoryLog([]) }

describe('discovery', () => {
  test('lists name and description, and annotations where there are some', async () => {
    const tools = [WEATHER, { name: 'wipe', annotations: { destructiveHint: true } }, { name: 'x', annotations: null }]
    const { send } = await openHandler('fetch', sunny, {}, tools)

    const { status, type, text } = await send('/tools')

    expect([status, type]).toEqual([200, 'application/json'])
    expect(text).toBe(
      '[{"name":"get_weather","description":"The weather in a city."},' +
        '{"name":"wipe","description":"","annotations":{"destructiveHint":true}},{"name":"x","description":""}]',
    )
  })

  test('shows the schema of one', async () => {
    const { send } = await openHandler('fetch', sunny, {}, [WEATHER, { name: 'bare' }])

    const { name, description, inputSchema } = WEATHER
    expect((await send('/tools/get_weather')).json).toEqual({ name, description, inputSchema })
    expect((await send('/tools/bare')).json).toEqual({ name: 'bare', description: '', inputSchema: {} })
  })

  test('asks a function at every request, and waits for it', async () => {
    verifies('rest:52')
    const tools: HostTool[] = []
    const provide = vi.fn(async () => tools)
    const { send, call } = await openHandler('fetch', sunny, {}, provide)

    expect((await send('/tools')).json).toEqual([])
    tools.push({ name: 'late' })
    expect((await call('late')).status).toBe(200)
    tools.length = 0
    expect((await call('late')).status).toBe(404)
    expect(provide).toHaveBeenCalledTimes(3)
  })

  test('that fails is a failure in JSON, without its reason', async () => {
    verifies('rest:33', 'rest:44')
    const broken: ToolsProvider = () => {
      throw new Error('mongodb://user:hunter22@db')
    }
    const { send, call, lines } = await openHandler('node', sunny, {}, broken)

    const listed = await send('/tools')
    const called = await call('get_weather')

    expect([listed.status, listed.type, called.status, called.json.isError]).toEqual([
      500,
      'application/json',
      500,
      true,
    ])
    expect(listed.text + called.text).not.toContain('hunter22')
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error'])
  })

  test('answers paths and methods it does not have in JSON, too', async () => {
    verifies('rest:33')
    const { send } = await openHandler('node', sunny)

    for (const [method, path, status] of [
      ['GET', '/nowhere', 404],
      ['GET', '/tools/get_weather/call', 405],
      ['DELETE', '/tools/get_weather', 405],
      ['POST', '/tools', 405],
      ['POST', '/tools/a/b/call', 404],
    ] as const) {
      const answer = await send(path, { method })
      expect([path, answer.status, answer.type, typeof answer.json.error]).toEqual([
        path,
        status,
        'application/json',
        'string',
      ])
    }
  })
})

describe('validation', () => {
  const open = (inputSchema: unknown) => {
    const handle = vi.fn(sunny)
    return { handle, opened: openHandler('fetch', handle, { allowExecute: false }, [{ name: 't', inputSchema }]) }
  }
  const validate = async (inputSchema: unknown, body: string) => {
    const { handle, opened } = open(inputSchema)
    const answer = await (await opened).send('/tools/t/validate', { method: 'POST', body })
    expect(handle).not.toHaveBeenCalled()
    return answer
  }

  test('says that arguments are good, without more', async () => {
    expect((await validate(WEATHER.inputSchema, '{"city":"Rome"}')).text).toBe('{"valid":true}')
  })

  test('names every problem with its place, that of a missing field included', async () => {
    const { status, json } = await validate(WEATHER.inputSchema, '{"days":0}')

    expect([status, json]).toEqual([
      200,
      {
        valid: false,
        errors: [
          { path: '/city', message: "must have required property 'city'", keyword: 'required' },
          { path: '/days', message: 'must be >= 1', keyword: 'minimum' },
        ],
      },
    ])
  })

  test('escapes what a pointer has to', async () => {
    const { json } = await validate({ type: 'object', required: ['a/b~c'] }, '{}')
    expect(json.errors[0].path).toBe('/a~1b~0c')
  })

  test.each([
    ['{bad', /^Invalid JSON: .+/],
    ['', /^Invalid JSON: .+/],
    ['[1]', /^Invalid JSON: .+object/],
    ['null', /^Invalid JSON: .+object/],
    ['{"a":1,"a":2}', /^Invalid JSON: .+twice/],
  ])('refuses the body %j', async (body, message) => {
    const { status, json } = await validate(WEATHER.inputSchema, body)

    expect(status).toBe(400)
    expect(json).toEqual({
      valid: false,
      errors: [{ path: '', message: expect.stringMatching(message), keyword: 'format' }],
    })
  })

  test.each([
    ['a type there is not', { type: 'nonsense' }],
    ['a reference to nowhere', { $ref: '#/$defs/none' }],
    ['a keyword of the wrong shape', { type: 'object', properties: 5 }],
    ['an invalid pattern', { properties: { a: { pattern: '(' } } }],
    ['a text', 'object'],
    ['a promise of an answer', { $async: true, type: 'object' }],
  ])('says of a schema that cannot be used that it cannot: %s', async (_, inputSchema) => {
    const { status, json } = await validate(inputSchema, '{}')

    expect(status).toBe(200)
    expect(json).toEqual({
      valid: false,
      errors: [{ path: '', message: expect.stringMatching(/^Invalid schema: .+/), keyword: 'schema' }],
    })
  })

  test.each([
    [undefined],
    [null],
    [true],
    [{}],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }],
  ])('accepts every object under the schema %j', async (inputSchema) => {
    expect((await validate(inputSchema, '{"x":1}')).json).toEqual({ valid: true })
  })

  test('of a tool there is not is 404, and past the limit 413', async () => {
    const { send } = await openHandler('fetch', sunny, { maxBodyBytes: 10 })

    expect((await send('/tools/none/validate', { method: 'POST', body: '{' })).json).toEqual({
      error: 'Tool not found: none',
    })
    expect((await send('/tools/get_weather/validate', { method: 'POST', body: '{"city":"Rome"}' })).status).toBe(413)
  })
})

describe('the page', () => {
  const page = async (config: object, tools: readonly HostTool[] = [WEATHER]) => {
    const { status, type, text } = await (await openHandler('fetch', sunny, config, tools)).send('/')
    expect([status, type]).toEqual([200, 'text/html; charset=utf-8'])
    return text
  }

  test('lists the tools, and needs nothing from elsewhere', async () => {
    const html = await page({})

    expect(html).toContain('<title>MCP Tool Explorer</title>')
    expect(html).toContain('<h1>MCP Tool Explorer</h1>')
    expect(html).toContain('href="http://tools.example/tools/get_weather"')
    expect(html).not.toMatch(/<script|<link|<img|@import/)
  })

  test('is shown in no frame, and loads and runs nothing', async () => {
    const { headers } = await (await openHandler('fetch', sunny, {})).send('/')

    expect(headers.get('content-security-policy')?.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]),
    )
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('escapes what it is given', async () => {
    const html = await page({ title: '<script>&"\'', projectName: '</p><b>' }, [
      { name: '"><img src=x>', description: '<script>' },
    ])

    expect(html).toContain('<title>&lt;script&gt;&amp;&quot;&#39;</title>')
    expect(html).not.toMatch(/<script>|<img|<b>/)
  })

  test.each([
    ['https://project.example/?a=1&b="', '<a href="https://project.example/?a=1&amp;b=&quot;"'],
    ['mailto:team@project.example', '<a href="mailto:team@project.example"'],
    ['/about', '<a href="/about"'],
    [' \thttps://project.example\n', '<a href="https://project.example"'],
    ['java\nscript:alert(1)', undefined],
    ['data:text/html,x', undefined],
    ['project.example', undefined],
  ])('links a project at %j only where that is safe', async (projectUrl, link) => {
    const html = await page({ projectName: 'Project', projectUrl })

    if (link === undefined) expect(html).toContain('<small>Project</small>')
    else expect(html).toContain(link)
  })
})

describe('mounted', () => {
  const at = async (url: string, path: string, init?: RequestInit) => answered(await fetch(url + path, init))
  const listen = async (listener: Parameters<typeof createServer>[1]) => {
    const server = createServer(listener as never).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close().closeAllConnections())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  test('at a prefix on node:http', async () => {
    const { node } = createToolHandler([WEATHER], sunny, { ...quiet, prefix: '/explorer/' })
    const url = await listen(node)

    expect((await at(url, '/explorer/tools/get_weather')).json.name).toBe('get_weather')
    expect((await at(url, '/explorer')).text).toContain('<h1>')
    expect((await at(url, '/explorer/')).text).toContain(`${url}/explorer/tools/get_weather`)
    expect((await at(url, '/tools')).status).toBe(404)
  })

  test('in Express, which is left what is not here', async () => {
    const app = express()
    app.use('/explorer', createToolHandler([WEATHER], sunny, quiet).node)
    app.use((_request, response) => void response.status(418).send('somebody else'))
    const url = await listen(app)

    expect((await at(url, '/explorer/tools')).json).toHaveLength(1)
    expect((await at(url, '/explorer/')).text).toContain(`${url}/explorer/tools/get_weather`)
    expect((await at(url, '/explorer/none')).status).toBe(418)
  })

  test('in Hono, which passes further arguments after the request', async () => {
    const { fetch } = createToolHandler([WEATHER], sunny, { ...quiet, prefix: '/explorer' })
    const app = new Hono().all('/explorer/*', (context) => fetch(context.req.raw, context.env))

    expect((await answered(await app.request('/explorer/tools', {}, { DB: 'a binding' }))).json).toHaveLength(1)
  })

  test('with the prefix given at each request', async () => {
    const { fetch } = createToolHandler([WEATHER], sunny, quiet)
    const ask = async (path: string, prefix?: string) =>
      (await fetch(new Request(`http://tools.example${path}`), prefix)).status

    expect(await ask('/a/tools', '/a')).toBe(200)
    expect(await ask('/b/c/tools', '/b/c/')).toBe(200)
    expect(await ask('/tools')).toBe(200)
    expect(await ask('/ab/tools', '/a')).toBe(404)
    expect(await ask('/a', '/a')).toBe(200)
  })

  test('not at an invalid path', () => {
    expect(() => createToolHandler([], sunny, { ...quiet, prefix: 'explorer' })).toThrow('Use a path such as')
  })
})
