/** Servers that break the protocol: every call ends in time, with an error that says what happened, and runs once. */
import type { ServerResponse } from 'node:http'
import { createOxpClient } from 'callplane/client/oxp'
import { describe, expect, test } from 'vitest'
import { createStepClock } from '../../scenarios/server.ts'
import { failureOf, type Scripted, startScripted, succeeds } from './scripted-server.ts'

const OK = { success: true, value: 1 }

function writes(status: number, headers: Record<string, string>, body: string | Uint8Array): Scripted {
  return (response: ServerResponse) => {
    response.writeHead(status, headers)
    response.end(body)
  }
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

const LIES: readonly [what: string, lie: Scripted, code: string, says: string | RegExp][] = [
  ['HTML for JSON', writes(200, { 'Content-Type': 'text/html' }, '<h1>Hi</h1>'), 'NOT_OXP', 'text/html'],
  ['an empty body', writes(200, JSON_TYPE, ''), 'NOT_OXP', 'not JSON'],
  ['a body that ends early', writes(200, JSON_TYPE, '{"success":true,"val'), 'NOT_OXP', 'not JSON'],
  ['bytes that are no text', writes(200, JSON_TYPE, new Uint8Array([0xff, 0xfe])), 'NOT_OXP', 'not JSON'],
  ['a connection cut in the body', cut, 'UNREACHABLE', 'connection broke'],
  ['a redirect to itself', writes(307, { Location: '/tools/call' }, ''), 'REDIRECTED', 'not followed'],
  ['a redirect elsewhere', writes(303, { Location: 'http://127.0.0.1:1/' }, ''), 'REDIRECTED', 'not followed'],
  ['a null', { body: null }, 'NOT_OXP', 'not a response of the protocol'],
  ['an array', { body: [OK] }, 'NOT_OXP', 'not a response of the protocol'],
  ['an error with status 200', { body: { message: 'No such tool' } }, 'NOT_OXP', '"No such tool"'],
  ['success as a text', { body: { ...OK, success: 'true' } }, 'NOT_OXP', '"success" is not true or false'],
  ['success with an error', { body: { ...OK, error: { message: 'x' } } }, 'NOT_OXP', 'both'],
  ['a failure without an error', { body: { success: false } }, 'NOT_OXP', 'without an "error"'],
  ['a failure with a number', { body: { success: false, error: { message: 5 } } }, 'NOT_OXP', 'without an "error"'],
  ['the result of another call', { body: { ...OK, call_id: 'other' } }, 'WRONG_REPLY', 'another call'],
  ['status 204', writes(204, {}, ''), 'NOT_OXP', '204'],
  ['a refusal in HTML', writes(400, { 'Content-Type': 'text/html' }, '<p>'), 'NOT_OXP', '400'],
  ['a refusal without a message', { status: 422, body: { errors: [] } }, 'NOT_OXP', '422'],
  ['a crash', writes(500, { 'Content-Type': 'text/plain' }, 'Traceback'), 'SERVER_ERROR', '500'],
  ['a gateway that asks for a retry', unavailable(), 'SERVER_ERROR', 'Later'],
]

function cut(response: ServerResponse): void {
  response.writeHead(200, { ...JSON_TYPE, 'Content-Length': '1000' })
  response.write('{"success":', () => response.destroy())
}

function unavailable(): Scripted {
  return { status: 503, headers: { 'Retry-After': '0' }, body: { message: 'Later' } }
}

describe('a call', () => {
  test.each(LIES)('%s', async (_what, lie, code, says) => {
    const { url, received } = await startScripted(lie, succeeds(1))

    const error = await failureOf(createOxpClient({ url }).call('a.b', {}, { callId: 'c1' }))

    expect(error).toMatchObject({ code, outcome: 'unknown', toolId: 'a.b', callId: 'c1', canRetry: false })
    expect(error.message).toMatch(says)
    expect(received).toHaveLength(1)
  })

  test('a body without an end is cut off at the limit', async () => {
    const { url } = await startScripted((response) => {
      response.writeHead(200, JSON_TYPE)
      const more = () => response.write('['.repeat(65_536), (failure) => (failure ? undefined : more()))
      more()
    })

    const error = await failureOf(createOxpClient({ url, maxResponseBytes: 1_000_000 }).call('a.b'))

    expect(error).toMatchObject({ code: 'RESPONSE_TOO_LARGE', outcome: 'unknown' })
  })

  test('a server that never answers, and one that never ends its body, end with the deadline', async () => {
    const silent = await startScripted(() => {})
    const endless = await startScripted((response) => {
      response.writeHead(200, JSON_TYPE)
      response.write('{')
    })

    for (const { url, received } of [silent, endless]) {
      const clock = createStepClock()
      const failing = failureOf(createOxpClient({ url, clock, timeoutMs: 1_000 }).call('a.b'))
      const error = await clock.passing(failing, 100)

      expect(error).toMatchObject({ code: 'TIMED_OUT', outcome: 'unknown', toolId: 'a.b' })
      expect(received.length).toBeLessThanOrEqual(1)
    }
  })

  test('a fetch that ignores its signal cannot hold the call', async () => {
    const clock = createStepClock()
    const oxp = createOxpClient({
      url: 'https://tools.example',
      clock,
      fetch: () => Promise.withResolvers<never>().promise,
    })

    const failing = failureOf(oxp.call('a.b', {}, { timeoutMs: 1_000 }))
    clock.advance(1_000)

    expect((await failing).code).toBe('TIMED_OUT')
  })

  test('a signal of the call or of the client aborts it, and an aborted one sends nothing', async () => {
    const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { url, received } = await startScripted(
      () => one.resolve(),
      () => two.resolve(),
    )
    const client = new AbortController()
    const call = new AbortController()
    const oxp = createOxpClient({ url, signal: client.signal })

    const first = failureOf(oxp.call('a.b', {}, { signal: call.signal }))
    await one.promise
    const second = failureOf(oxp.call('a.b'))
    await two.promise
    call.abort('changed my mind')
    client.abort()
    const third = await failureOf(oxp.call('a.b'))

    expect(await first).toMatchObject({ code: 'ABORTED', outcome: 'unknown', cause: 'changed my mind' })
    expect(await second).toMatchObject({ code: 'ABORTED', outcome: 'unknown' })
    expect(third).toMatchObject({ code: 'ABORTED', outcome: 'refused' })
    expect(received).toHaveLength(2)
  })

  test('unknown fields are ignored, and a result may lack what the client does not need', async () => {
    const { url } = await startScripted(
      { body: { ...OK, execution_id: 'e', duration: 'long', error: null, new: { a: 1 } } },
      { body: { result: { success: true } } },
    )
    const oxp = createOxpClient({ url })

    const first = await oxp.call('a.b', {}, { callId: 'c1' })
    const second = await oxp.call('a.b')

    expect(first).toEqual({ value: 1, callId: 'c1', durationMs: undefined })
    expect(second.value).toBeNull()
  })
})

describe('the list of tools', () => {
  test.each<[what: string, lie: Scripted, code: string]>([
    ['HTML', writes(200, { 'Content-Type': 'text/html' }, '<h1>'), 'NOT_OXP'],
    ['no list', { body: { items: {} } }, 'NOT_OXP'],
    ['a tool without an id', { body: { items: [{ name: 'x' }] } }, 'NOT_OXP'],
    ['a text as a tool', { body: { tools: ['x'] } }, 'NOT_OXP'],
    ['a page that is not there', writes(404, {}, 'Not found'), 'NOT_OXP'],
    ['a redirect', writes(302, { Location: '/login' }, ''), 'REDIRECTED'],
    ['a refusal', { status: 401, body: { message: 'Who are you?' } }, 'UNAUTHORIZED'],
  ])('%s', async (_what, lie, code) => {
    const { url } = await startScripted(lie)

    expect((await failureOf(createOxpClient({ url }).tools())).code).toBe(code)
  })

  test('fields of wrong types and unknown ones are left out', async () => {
    const { url } = await startScripted({
      body: {
        tools: [
          {
            id: 'a.b@1.0.0',
            name: 'a_b',
            description: 5,
            version: null,
            input_schema: { parameters: { type: 'object' } },
            output_schema: null,
            requirements: { authorization: [{ id: 'hub', oauth2: { scopes: ['repo', 5] } }, 'x'], secrets: 'all' },
            color: 'blue',
          },
        ],
      },
    })

    expect(await createOxpClient({ url, protocol: 'otc' }).tools()).toEqual([
      {
        id: 'a.b@1.0.0',
        name: 'a_b',
        description: 'a_b',
        version: undefined,
        inputSchema: { type: 'object' },
        outputSchema: null,
        requirements: { authorization: [{ id: 'hub', scopes: ['repo'] }], secrets: [], userId: false },
      },
    ])
  })
})
