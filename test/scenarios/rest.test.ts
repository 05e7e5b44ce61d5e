/** The Tool Execution API on the engine: results, failures and calls. */
import { createToken, operation, removed } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { add, callTool, forecast, on, post } from './rest-client.ts'
import { createGate, createStepClock, startSite } from './server.ts'

describe('the return value of an operation becomes content', () => {
  const returning = (value: unknown) => operation('v1:it.returns', { run: () => value as never })
  const returned = async (value: unknown) => {
    const site = await startSite({ operations: [returning(value)], ...on })
    const { status, json } = await callTool(site, 'it_returns')
    expect(json._meta._trace_id).toMatch(/^[0-9a-f-]{36}$/)
    delete json._meta
    return { status, ...json }
  }

  test.each([
    ['a text', 'sunny', { content: [{ type: 'text', text: 'sunny' }] }],
    ['an object', { a: 1 }, { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } }],
    ['a list', [1, 2], { content: [{ type: 'text', text: '[1,2]' }], structuredContent: { result: [1, 2] } }],
    ['a number', 3, { content: [{ type: 'text', text: '3' }], structuredContent: { result: 3 } }],
    ['no', false, { content: [{ type: 'text', text: 'false' }], structuredContent: { result: false } }],
    ['nothing', undefined, { content: [{ type: 'text', text: 'null' }], structuredContent: { result: null } }],
    ['an object that only looks like content', { content: ['x'] }, { structuredContent: { content: ['x'] } }],
    ['a page with content', { content: [], page: 1 }, { structuredContent: { content: [], page: 1 } }],
  ])('%s', async (_, value, expected) => {
    verifies('rest:03', 'rest:25', 'rest:35', 'rest:36', 'rest:47')
    expect(await returned(value)).toMatchObject({ status: 200, isError: false, ...expected })
  })

  test('a result of MCP as it is, failures included', async () => {
    verifies('rest:37', 'rest:48', 'rest:49')
    const content = [
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0=' },
      { type: 'new', x: 1 },
    ]

    expect(await returned({ content })).toEqual({ status: 200, content, isError: false })
    expect(await returned({ content, isError: true, structuredContent: { a: 1 } })).toEqual({
      status: 500,
      content,
      isError: true,
      structuredContent: { a: 1 },
    })
  })

  test('bytes: small pictures, sounds and texts are in the response, others are a link', async () => {
    verifies('rest:48', 'rest:49')
    const store = (mimeType: string, length = 4) =>
      operation(`v1:store.${mimeType.replace(/\W/g, '')}${length}`, {
        run: (_args, ctx) => ctx.object(new Uint8Array(length).fill(0x41), { mimeType }),
      })
    const elsewhere = operation('v1:store.elsewhere', {
      run: (_args, ctx) => ctx.location('https://files.example/a.zip'),
    })
    const pieces = operation('v1:store.pieces', { chunked: { mimeType: 'text/csv' }, run: () => ['a,b\n'] })
    const site = await startSite({
      operations: [
        store('image/png'),
        store('audio/wav'),
        store('text/plain'),
        store('application/zip'),
        store('image/png', 1024 * 1024 + 1),
        elsewhere,
        pieces,
      ],
      ...on,
    })
    const contentOf = async (name: string) => (await callTool(site, name)).json.content[0]

    expect(await contentOf('store_imagepng4')).toEqual({ type: 'image', mimeType: 'image/png', data: 'QUFBQQ==' })
    expect(await contentOf('store_audiowav4')).toEqual({ type: 'audio', mimeType: 'audio/wav', data: 'QUFBQQ==' })
    expect(await contentOf('store_textplain4')).toMatchObject({
      type: 'resource',
      resource: { mimeType: 'text/plain', text: 'AAAA', uri: expect.stringContaining(`${site.url}/objects/`) },
    })
    for (const name of ['store_applicationzip4', 'store_imagepng1048577']) {
      const link = await contentOf(name)
      expect(link.type).toBe('resource_link')
      expect((await fetch(link.uri)).headers.get('content-type')).toBe(link.mimeType)
    }
    expect(await contentOf('store_elsewhere')).toEqual({
      type: 'resource_link',
      uri: 'https://files.example/a.zip',
      name: 'a.zip',
    })
    const chunks = await contentOf('store_pieces')
    expect(chunks).toMatchObject({ type: 'resource_link', mimeType: 'text/csv' })
    expect(await (await fetch(chunks.uri)).json()).toMatchObject({ data: 'a,b\n', state: 'complete' })
  })
})

describe('a tool that fails', () => {
  test('in its domain has the reason and the next step, and no text for developers', async () => {
    verifies('rest:26', 'rest:37', 'rest:38', 'rest:56')
    const ring = operation('v1:bell.ring', {
      run: (_args, ctx) =>
        ctx.fail('NO_BELL', 'There is no such bell', {
          retryable: true,
          retryAfterMs: 500,
          details: { known: ['a'] },
          promptContent: 'Try a.',
          developerMessage: 'row 7 is missing',
        }),
    })
    const site = await startSite({ operations: [ring], ...on })

    const { status, json, text } = await callTool(site, 'bell_ring', {}, { traceparent: TRACEPARENT })

    expect([status, json]).toEqual([
      500,
      {
        content: [
          { type: 'text', text: 'There is no such bell' },
          { type: 'text', text: 'Try a.' },
        ],
        structuredContent: { known: ['a'], code: 'NO_BELL', retryable: true, retryAfterMs: 500 },
        isError: true,
        _meta: { _trace_id: TRACE_ID },
      },
    ])
    expect(text).not.toContain('row 7')
  })

  test('by an exception shows its message without secrets; OpenCALL does not, and the log has all of it', async () => {
    verifies('rest:39', 'rest:40', 'rest:41', 'rest:42', 'rest:43', 'rest:44', 'rest:54', 'rest:60')
    const lines: LogLine[] = []
    let seen = ''
    const login = operation('v1:bank.login', {
      requires: { secrets: ['pin'] },
      run: (_args, ctx) => {
        seen = ctx.secret('pin')
        return 'in'
      },
    })
    const pay = operation('v1:bank.pay', {
      run: () => {
        throw new Error(`the bank refused ${seen}`, { cause: new Error('at 10.0.0.7') })
      },
    })
    const payLater = operation('v1:bank.payLater', {
      model: 'async',
      run: () => Promise.reject(new Error('the bank is closed')),
    })
    const site = await startSite({ operations: [login, pay, payLater], log: createMemoryLog(lines), ...on })
    await post(site, '/tools/call', {
      tool_id: 'bank.login',
      input: {},
      context: { secrets: [{ id: 'pin', value: 'pin-0815-4711' }] },
    })

    const { status, json, text } = await callTool(site, 'bank_pay')
    const later = await callTool(site, 'bank_payLater')
    const other = await site.call('v1:bank.pay')

    expect(seen).toBe('pin-0815-4711')
    expect([status, json.isError]).toEqual([500, true])
    expect(json.content).toEqual([{ type: 'text', text: 'the bank refused [redacted]' }])
    expect(text).not.toMatch(/10\.0\.0\.7| at |stack/)
    expect(later.json.content[0].text).toBe('the bank is closed')
    expect(JSON.stringify(other.body)).not.toContain('the bank')
    expect(lines.filter(({ message }) => message === 'the handler failed')).toHaveLength(3)
  })

  test('because of a missing authorization says where the person can grant it', async () => {
    const issues = operation('v1:git.issues', {
      requires: { authorization: [{ id: 'git', scopes: ['repo'] }] },
      run: () => 'none',
    })
    const git = {
      authorizationUrl: 'https://git.example/authorize',
      tokenUrl: 'https://git.example/token',
      clientId: 'callplane',
    }
    const site = await startSite({ operations: [issues], authorization: { providers: { git } }, ...on })

    const { status, json } = await callTool(site, 'git_issues')

    expect([status, json.isError, json.structuredContent.code]).toEqual([500, true, 'REQUIREMENTS_MISSING'])
    const [{ id, url, checkUrl }] = json.structuredContent.authorization
    expect(id).toBe('git')
    expect(url).toContain('https://git.example/authorize?')
    expect(await (await fetch(checkUrl)).json()).toEqual({ status: 'pending' })
  })

  test('because of an unreachable provider says so, but not to an unknown caller', async () => {
    const needs = { requires: { authorization: [{ id: 'git' }] }, run: () => 'none' }
    const operations = [operation('v1:git.issues', needs), operation('v1:git.open', { ...needs, public: true })]
    const git = { issuer: 'http://127.0.0.1:1', clientId: 'callplane', allowInsecure: true }
    const known = createToken()
    const site = await startSite({
      operations,
      authorization: { providers: { git } },
      auth: { tokens: [{ hash: known.hash, kind: 'bearer', subject: 'ada', scopes: [] }] },
      ...on,
    })

    const down = await callTool(site, 'git_issues', {}, { Authorization: `Bearer ${known.token}` })
    const nobody = await callTool(site, 'git_open')

    expect([down.status, down.json.isError, down.json.structuredContent.code]).toEqual([
      500,
      true,
      'PROVIDER_UNREACHABLE',
    ])
    expect([nobody.status, nobody.json]).toEqual([401, { error: 'Unauthorized' }])
  })

  test('because its arguments are wrong never runs, and names every problem', async () => {
    const site = await startSite({ operations: [add, forecast], ...on })

    const missing = await callTool(site, 'weather_forecast', { town: 'Rome' })
    const list = await callTool(site, 'math_add', [1, 2])
    const twice = await callTool(site, 'math_add', '{"a":1,"a":2}', { traceparent: TRACEPARENT })
    const deep = await callTool(site, 'math_add', `${'['.repeat(65)}${']'.repeat(65)}`)

    expect([missing.status, missing.json.isError]).toEqual([500, true])
    expect(missing.json.structuredContent).toEqual({
      code: 'VALIDATION_ERROR',
      retryable: false,
      errors: [
        { path: '/city', message: 'is required', keyword: 'required' },
        { path: '/town', message: 'is not a known field', keyword: 'additionalProperties' },
      ],
    })
    expect(missing.json.content[0].text).toContain('/city: is required')
    expect([list.status, list.json.structuredContent.errors]).toEqual([
      500,
      [{ path: '', message: 'must be object', keyword: 'type' }],
    ])
    expect([twice.status, twice.json.structuredContent]).toEqual([500, { code: 'DUPLICATE_KEY', retryable: false }])
    expect(twice.json._meta).toEqual({ _trace_id: TRACE_ID })
    expect([deep.status, deep.json.structuredContent.code]).toEqual([500, 'TOO_DEEP'])
  })
})

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`

describe('a call', () => {
  test('belongs to the trace of its request, else its own id is what the log and the spans have', async () => {
    verifies('rest:36', 'rest:55')
    const lines: LogLine[] = []
    const note = operation('v1:it.notes', { run: (_args, ctx) => ctx.log.info({}, 'noted') })
    const site = await startSite({ operations: [note], log: createMemoryLog(lines), ...on })

    const traced = await callTool(site, 'it_notes', {}, { traceparent: TRACEPARENT })
    const plain = await callTool(site, 'it_notes', {}, { traceparent: 'nonsense' })

    expect(traced.json._meta).toEqual({ _trace_id: TRACE_ID })
    expect(lines.map(({ fields }) => fields.requestId)).toContain(plain.json._meta._trace_id)
  })

  test('without a body, or with a body that is not JSON, has no arguments', async () => {
    verifies('rest:06', 'rest:13', 'rest:59')
    const site = await startSite({ operations: [operation('v1:it.echoes', { run: (args) => args as never })], ...on })

    for (const body of ['', 'null', '{bad', 'a=b', '['.repeat(64), '['.repeat(65), '[{]'.repeat(40)]) {
      expect((await callTool(site, 'it_echoes', body)).json).toMatchObject({ isError: false, structuredContent: {} })
    }
  })

  test('reaches the newest major by its name, and each by its pin', async () => {
    verifies('rest:02', 'rest:11', 'rest:12', 'rest:52', 'rest:57')
    const say = (name: string) => operation(name, { run: () => name })
    const site = await startSite({
      operations: [say('v1:greet.hello'), say('v2:greet.hello'), removed('v1:greet.bye', { on: '2025-01-01' })],
      ...on,
    })
    const textOf = async (name: string) => (await callTool(site, name)).json.content?.[0].text

    expect(await textOf('greet_hello')).toBe('v2:greet.hello')
    expect(await textOf('greet_hello_v1')).toBe('v1:greet.hello')
    expect(await textOf('greet_hello_v2')).toBe('v2:greet.hello')
    for (const name of ['greet_hello_v3', 'greet_bye', 'greet.hello', 'v1:greet.hello', 'Greet_hello']) {
      const { status, text } = await callTool(site, encodeURIComponent(name))
      expect([status, text]).toEqual([404, JSON.stringify({ error: `Tool not found: ${name}` })])
    }
  })

  test('with an effect needs no key; with a key, a repeat joins the first call', async () => {
    let notes = 0
    const note = operation('v1:notes.add', { sideEffecting: true, run: () => ++notes })
    const site = await startSite({ operations: [note], ...on })
    const key = { 'Idempotency-Key': 'note-1' }

    const texts: string[] = []
    for (const headers of [{}, {}, key, key]) {
      texts.push((await callTool(site, 'notes_add', {}, headers)).json.content[0].text)
    }

    expect(texts).toEqual(['1', '2', '3', '3'])
    expect((await callTool(site, 'notes_add', {}, { 'Idempotency-Key': 'a b' })).json.isError).toBe(true)
  })

  test('of an async operation is waited for, and past that told how to ask again', async () => {
    const clock = createStepClock()
    const gate = createGate<string>()
    const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [build], clock, ...on })

    const waiting = callTool(site, 'jobs_build')
    await gate.began
    await clock.timer(30_000)
    clock.advance(30_000)
    const pending = (await waiting).json
    const { idempotencyKey, uri } = pending.structuredContent
    gate.open('built')
    const again = await callTool(site, 'jobs_build', {}, { 'Idempotency-Key': idempotencyKey })

    expect(pending.isError).toBe(true)
    expect(pending.structuredContent).toMatchObject({ code: 'STILL_RUNNING', retryable: true })
    expect(pending.content[0].text).toContain(`Idempotency-Key: ${idempotencyKey}`)
    expect(again.json).toMatchObject({ isError: false, content: [{ type: 'text', text: 'built' }] })
    expect(await (await fetch(uri)).json()).toMatchObject({ state: 'complete', result: 'built' })
  })

  test('of a sync operation is waited for longer than the operation itself would', async () => {
    const clock = createStepClock()
    const gate = createGate<string>()
    const slow = operation('v1:it.waits', { maxSyncMs: 100, run: () => gate.pass() })
    const site = await startSite({ operations: [slow], clock, ...on })

    const waiting = callTool(site, 'it_waits')
    await gate.began
    await clock.timer(25)
    clock.advance(25)
    await clock.timer(75)
    clock.advance(75)
    await clock.timer(29_900)
    gate.open('at last')

    expect((await waiting).json).toMatchObject({ isError: false, content: [{ text: 'at last' }] })
  })
})
