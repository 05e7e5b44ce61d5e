/** `POST /tools/{name}/call` with tools that the application runs itself. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Content, ToolCallHandler, ToolHandlerConfig } from 'callplane'
import { describe, expect, test, vi } from 'vitest'
import { verifies } from '../../requirements.ts'
import { type Face, openHandler, sunny } from './handler.ts'

const FACES: readonly Face[] = ['fetch', 'node']
const DISABLED = '{"error":"Tool execution is disabled."}'
const UNAUTHORIZED = '{"error":"Unauthorized"}'
const refusing: ToolHandlerConfig = {
  authHook: async () => {
    throw new Error('token tok_4711 is unknown to ldap.internal')
  },
}

describe.each(FACES)('a call through %s', (face) => {
  test('is answered with the bytes of the document, and its body is the arguments', async () => {
    verifies('rest:01', 'rest:02', 'rest:03', 'rest:04', 'rest:05', 'rest:17', 'rest:18', 'rest:19', 'rest:21')
    verifies('rest:33', 'rest:34', 'rest:35', 'rest:36', 'rest:47', 'rest:55')
    const handle = vi.fn(async (_name: string, _args: object) => sunny('', {}, {} as Request))
    const { call } = await openHandler(face, handle)

    const { status, type, text } = await call('get_weather', '{"city":"Rome","arguments":{"x":1}}')

    expect([status, type]).toEqual([200, 'application/json'])
    expect(text).toBe(
      '{"content":[{"type":"text","text":"result here"}],"isError":false,"_meta":{"_trace_id":"abc-123"}}',
    )
    expect(handle.mock.calls[0]?.slice(0, 2)).toEqual(['get_weather', { city: 'Rome', arguments: { x: 1 } }])
  })

  test('of a tool that says it failed is 500 with its own content, and keeps its trace', async () => {
    verifies('rest:26', 'rest:34', 'rest:37', 'rest:38', 'rest:56')
    const { call } = await openHandler(face, async () => [[{ type: 'text', text: 'no such city' }], true, 't-1'])

    const { status, type, text } = await call('get_weather')

    expect([status, type]).toEqual([500, 'application/json'])
    expect(text).toBe('{"content":[{"type":"text","text":"no such city"}],"isError":true,"_meta":{"_trace_id":"t-1"}}')
  })

  test('of a tool that throws is 500 with the message, and the log has the rest', async () => {
    verifies('rest:34', 'rest:39', 'rest:40', 'rest:41', 'rest:42', 'rest:43', 'rest:44', 'rest:54', 'rest:60')
    const error = new Error('db refused pa55-w0rd-1234', { cause: new Error('host 10.0.0.7') })
    const handle: ToolCallHandler = async () => {
      throw error
    }
    const { call, lines } = await openHandler(face, handle, { secrets: ['pa55-w0rd-1234'] })

    const { status, type, text } = await call('get_weather')

    expect([status, type]).toEqual([500, 'application/json'])
    expect(text).toBe('{"content":[{"type":"text","text":"db refused [redacted]"}],"isError":true}')
    expect(lines).toEqual([
      { level: 'error', fields: { err: error, tool: 'get_weather' }, message: 'the tool handler failed' },
    ])
  })

  test.each([
    [
      'thrown before it was a promise',
      (() => {
        throw new Error('at once')
      }) as ToolCallHandler,
      'at once',
    ],
    ['thrown as a text', () => Promise.reject('just words'), 'just words'],
    [
      'thrown as nothing',
      () => Promise.reject(undefined),
      "The tool failed without a message. Check the server's log.",
    ],
    ['no tuple', (async () => 'done') as unknown as ToolCallHandler, 'must return [content, isError, traceId]'],
    ['content that is no list', (async () => [{}, false]) as unknown as ToolCallHandler, 'must return'],
    ['content that is not JSON', async () => [[{ type: 'x', n: 1n }], false] as [Content[], boolean], 'BigInt'],
  ])('never ends in an error page: %s', async (_, handle, said) => {
    verifies('rest:40', 'rest:44')
    const { call, lines } = await openHandler(face, handle)

    const { status, json } = await call('get_weather')

    expect([status, json.isError]).toEqual([500, true])
    expect(json.content[0].text).toContain(said)
    expect(lines.map(({ level }) => level)).toEqual(['error'])
  })

  test.each([[undefined], [null], ['']])('has no _meta when the trace id is %j', async (traceId) => {
    verifies('rest:27', 'rest:45', 'rest:46', 'rest:61')
    for (const isError of [false, true]) {
      const { call } = await openHandler(face, async () => [[], isError, traceId])
      expect((await call('get_weather')).text).toBe(`{"content":[],"isError":${isError}}`)
    }
  })

  test('passes every kind of content through as it is', async () => {
    verifies('rest:25', 'rest:47', 'rest:48', 'rest:49')
    const content: Content[] = [
      { type: 'text', text: 'grüße' },
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0=' },
      { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'b' } },
      { type: 'of-tomorrow', anything: { goes: [1, null] } },
    ]
    const { call } = await openHandler(face, async () => [content, false])

    expect((await call('get_weather')).json).toEqual({ content, isError: false })
  })
})

describe.each(FACES)('the checks before a call through %s', (face) => {
  /** The problems of a request. Each row adds a failure that a later check would find. */
  const failures = [
    {
      at: 'execution is off',
      name: 'none',
      body: '{',
      config: { ...refusing, allowExecute: false },
      answer: [403, DISABLED],
    },
    {
      at: 'no such tool',
      name: 'none',
      body: '{',
      config: refusing,
      answer: [404, '{"error":"Tool not found: none"}'],
    },
    { at: 'the hook', name: 'get_weather', body: '{', config: refusing, answer: [401, UNAUTHORIZED] },
  ]

  test.each(failures)(
    'come in their order, and the first that fails is the answer: $at',
    async ({ name, body, config, answer }) => {
      verifies('rest:07', 'rest:08', 'rest:09', 'rest:10', 'rest:11', 'rest:12', 'rest:14', 'rest:15', 'rest:33')
      const handle = vi.fn(sunny)
      const { call } = await openHandler(face, handle, config)

      const { status, text, type } = await call(name, body)

      expect([status, text]).toEqual(answer)
      expect(type).toBe('application/json')
      expect(handle).not.toHaveBeenCalled()
    },
  )

  test('refuse to run a tool unless execution is enabled', async () => {
    verifies('rest:09', 'rest:10', 'rest:51', 'rest:58')
    const hook = vi.fn()
    for (const config of [{ allowExecute: false }, { allowExecute: undefined }] as ToolHandlerConfig[]) {
      const { call, send } = await openHandler(face, sunny, { ...config, authHook: hook })
      const answer = await call('get_weather')
      expect([answer.status, answer.text]).toEqual([403, DISABLED])
      expect((await call('none')).text).toBe(DISABLED)
      expect((await call('%zz')).text).toBe(DISABLED)
      // Looking is allowed.
      expect((await send('/tools/get_weather')).status).toBe(200)
    }
    expect(hook).not.toHaveBeenCalled()
  })

  test.each([
    ['none', 'none'],
    ['a%2Fb', 'a/b'],
    ['..%2Fget_weather', '../get_weather'],
    ['get_weather%00', 'get_weather\0'],
    ['GET_WEATHER', 'GET_WEATHER'],
    ['__proto__', '__proto__'],
    ['%F0%9F%A6%8A', '🦊'],
    ['%22%3Cb%3E', '"<b>'],
    ['%zz', '%zz'],
    ['%ff', '%ff'],
    ['100%', '100%'],
  ])('know no tool %s, and call no handler', async (sent, name) => {
    verifies('rest:11', 'rest:12', 'rest:52', 'rest:57')
    const handle = vi.fn(sunny)
    const { call, send } = await openHandler(face, handle)

    for (const answer of [await call(sent), await send(`/tools/${sent}`)]) {
      expect([answer.status, answer.type, answer.json]).toEqual([
        404,
        'application/json',
        { error: `Tool not found: ${name}` },
      ])
    }
    expect(handle).not.toHaveBeenCalled()
  })

  test('find a tool whose name has to be escaped', async () => {
    const tools = ['a/b', 'grüße', '100%', 'a b'].map((name) => ({ name }))
    const { call } = await openHandler(face, async (name) => [[{ type: 'text', text: name }], false], {}, tools)

    for (const { name } of tools) {
      expect((await call(encodeURIComponent(name), '{}')).json.content[0].text).toBe(name)
    }
    expect((await call('a/b', '{}')).status).toBe(404)
  })

  test.each([
    ['broken', '{bad'],
    ['nothing', ''],
    ['null', 'null'],
    ['not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d)],
    ['compressed', Uint8Array.of(0x1f, 0x8b, 8)],
    ['a form', 'city=Rome'],
  ])('take a body that is no JSON for no arguments: %s', async (_, body) => {
    verifies('rest:06', 'rest:13', 'rest:59')
    const seen: unknown[] = []
    const { call } = await openHandler(face, async (_name, args) => {
      seen.push(args)
      return [[], false]
    })

    expect((await call('get_weather', body)).status).toBe(200)
    expect(seen).toEqual([{}])
  })

  test.each([
    ['[1]', 'The arguments must be a JSON object.'],
    ['"Rome"', 'The arguments must be a JSON object.'],
    ['7', 'The arguments must be a JSON object.'],
    ['{"city":"Rome","city":"Oslo"}', 'same key twice'],
    [`${'['.repeat(100)}${']'.repeat(100)}`, 'levels deep'],
  ])('refuse what is JSON but no arguments: %s', async (body, said) => {
    const handle = vi.fn(sunny)
    const { call } = await openHandler(face, handle)

    const { status, json } = await call('get_weather', body)

    expect([status, json.isError]).toEqual([500, true])
    expect(json.content[0].text).toContain(said)
    expect(handle).not.toHaveBeenCalled()
  })

  test('bound the body, and read it only for a tool there is', async () => {
    const { call } = await openHandler(face, sunny, { maxBodyBytes: 100 })
    const large = JSON.stringify({ city: 'x'.repeat(100) })

    const known = await call('get_weather', large)
    const unknown = await call('none', large)

    expect([known.status, known.type, known.json.isError]).toEqual([413, 'application/json', true])
    expect([unknown.status, unknown.text]).toEqual([404, '{"error":"Tool not found: none"}'])
  })

  test('refuse a form that a page of another site posts, before anything runs', async () => {
    const handle = vi.fn(sunny)
    const { call } = await openHandler(face, handle)
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const statuses = async (headers: Record<string, string>) => (await call('get_weather', 'a=b', headers)).status

    expect(await statuses({ ...form, Origin: 'https://evil.example' })).toBe(403)
    expect(await statuses({ 'Content-Type': 'text/plain', Origin: 'https://evil.example' })).toBe(403)
    expect(await statuses({ ...form, Origin: 'null' })).toBe(403)
    expect(await statuses({ ...form, 'Sec-Fetch-Site': 'cross-site' })).toBe(403)
    expect(handle).not.toHaveBeenCalled()
    // A browser asks before it sends this, and we do not say yes.
    expect(await statuses({ 'Content-Type': 'application/json; charset=utf-8', Origin: 'https://app.example' })).toBe(
      200,
    )
    expect(await statuses({ ...form, Origin: 'http://tools.example', Host: 'tools.example' })).toBe(200)
    expect(await statuses(form)).toBe(200)
  })
})

describe.each(FACES)('the auth hook of %s', (face) => {
  test('is skipped if it is not configured', async () => {
    verifies('rest:16')
    expect((await (await openHandler(face, sunny)).call('get_weather')).status).toBe(200)
  })

  test('refuses with these words alone, and the log has the reason', async () => {
    verifies('rest:14', 'rest:15', 'rest:53')
    const { call, lines } = await openHandler(face, sunny, refusing)

    const { status, type, text, headers } = await call('get_weather')

    expect([status, type, text]).toEqual([401, 'application/json', UNAUTHORIZED])
    expect(JSON.stringify([...headers])).not.toMatch(/tok_4711|ldap/)
    expect(lines.map(({ level, message }) => [level, message])).toEqual([['warn', 'the auth hook refused a call']])
  })

  test('gets the request, and the handler sees its async context', async () => {
    verifies('rest:22')
    const identity = new AsyncLocalStorage<string>()
    const { call } = await openHandler(
      face,
      async () => [[{ type: 'text', text: identity.getStore() ?? '?' }], false],
      {
        authHook: (request, next) => identity.run(request.headers.get('x-user') ?? 'nobody', next),
      },
    )

    expect((await call('get_weather', '{}', { 'X-User': 'ada' })).json.content[0].text).toBe('ada')
  })

  test('that throws after the tool ran changes nothing', async () => {
    const handle = vi.fn(sunny)
    const { call, lines } = await openHandler(face, handle, {
      authHook: async (_request, next) => {
        await next()
        throw new Error('could not write the audit line')
      },
    })

    const { status, json } = await call('get_weather')

    expect([status, json.isError, handle.mock.calls.length]).toEqual([200, false, 1])
    expect(lines.map(({ level }) => level)).toEqual(['warn'])
  })

  test('may answer itself, add to the answer, look on, or never let the call through', async () => {
    const handle = vi.fn(sunny)
    const answers: NonNullable<ToolHandlerConfig['authHook']>[] = [
      async () => Response.json({ error: 'Pay first' }, { status: 402 }),
      async (_request, next) => {
        const response = await next()
        response.headers.set('X-Seen', 'yes')
        return response
      },
      async (_request, next) => {
        await (await next()).json()
        await next()
      },
      async () => undefined,
    ]
    const got: unknown[] = []
    for (const authHook of answers) {
      const { status, headers } = await (await openHandler(face, handle, { authHook })).call('get_weather')
      got.push([status, headers.get('x-seen')])
    }

    expect(got).toEqual([
      [402, null],
      [200, 'yes'],
      [200, null],
      [401, null],
    ])
    expect(handle).toHaveBeenCalledTimes(2)
  })

  test('guards only calls: lists and validation do not need it', async () => {
    const { send } = await openHandler(face, sunny, refusing)
    const validate = { method: 'POST', body: '{"city":"Rome"}' }

    expect((await send('/tools')).status).toBe(200)
    expect((await send('/tools/get_weather')).status).toBe(200)
    expect((await send('/tools/get_weather/validate', validate)).json).toEqual({ valid: true })
  })
})

describe.each(FACES)('the handler of %s', (face) => {
  const reply = (parts: unknown[]): Promise<[Content[], boolean]> =>
    Promise.resolve([[{ type: 'text', text: String(parts.length) }], false])

  test('with two parameters gets two', async () => {
    verifies('rest:23', 'rest:24', 'rest:28')
    const seen: number[] = []
    const two = (name: string, args: Record<string, unknown>) => reply([name, args])
    const handle = new Proxy(two, {
      apply: (target, self, parts) => {
        seen.push(parts.length)
        return Reflect.apply(target, self, parts)
      },
    })
    await (await openHandler(face, handle)).call('get_weather')

    expect(seen).toEqual([2])
  })

  test.each<[string, ToolCallHandler]>([
    ['three parameters', (_name, _args, request) => reply([request.headers.get('x-user')])],
    ['rest parameters', (...all) => reply(all)],
    ['a default parameter', (_name, _args = {}, request = undefined as never) => reply([request.url])],
    ['one parameter and more behind it', (_name, ...more) => reply(more)],
  ])('with %s gets the request', async (_, handle) => {
    verifies('rest:20', 'rest:22', 'rest:24', 'rest:29')
    const requests: unknown[] = []
    const spying = new Proxy(handle, {
      apply: (target, self, parts) => {
        requests.push(parts[2])
        return Reflect.apply(target, self, parts)
      },
    })

    await (await openHandler(face, spying)).call('get_weather', '{}', { 'X-User': 'ada' })

    expect(requests).toHaveLength(1)
    const [request] = requests as [Request]
    expect([request.method, new URL(request.url).pathname, request.headers.get('x-user')]).toEqual([
      'POST',
      '/tools/get_weather/call',
      'ada',
    ])
  })
})
