/** The bodies and headers that the client sends, and the same calls to our own server in all three dialects. */
import { createToken, operation } from 'callplane'
import { createOxpClient, type OxpClientOptions } from 'callplane/client/oxp'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { failureOf, startScripted, succeeds } from './scripted-server.ts'

const CALL_ID = '123e4567-e89b-12d3-a456-426614174000'

async function send(options: Omit<OxpClientOptions, 'url'>) {
  const { url, received } = await startScripted(succeeds(15))
  const oxp = createOxpClient({ url, token: 'a.jwt', ...options })
  const result = await oxp.call('Calculator.Add@1.0.0', { a: 10, b: 5 }, { callId: CALL_ID })
  return { result, request: received[0] }
}

describe('the examples of the specifications', () => {
  const flat = { call_id: CALL_ID, tool_id: 'Calculator.Add@1.0.0', input: { a: 10, b: 5 } }

  test('OXP: the body is the call itself, and the version is in a header that may be left out', async () => {
    verifies('oxp:05', 'oxp:07')

    const { request, result } = await send({ protocol: 'oxp' })
    const without = await send({ sendVersion: false })

    expect(result).toEqual({ value: 15, callId: CALL_ID, durationMs: 2 })
    expect(request).toMatchObject({ method: 'POST', path: '/tools/call' })
    expect(request?.headers).toMatchObject({
      'oxp-version': '1.0',
      authorization: 'Bearer a.jwt',
      'content-type': 'application/json',
    })
    for (const sent of [request, without.request]) expect(sent?.body).toEqual(flat)
    expect(without.request?.headers).not.toHaveProperty('oxp-version')
  })

  test('OTC: the call is in "request", and "$schema" may be left out', async () => {
    verifies('oxp:08', 'oxp:09')

    const { request, result } = await send({ protocol: 'otc' })
    const without = await send({ protocol: 'otc', sendVersion: false })

    expect(result.value).toBe(15)
    expect(request?.body).toEqual({ $schema: 'otc://1.0', request: flat })
    expect(request?.headers).not.toHaveProperty('oxp-version')
    expect(without.request?.body).toEqual({ request: flat })
  })

  test('OXP wrapped: the body of OTC with the marker of OXP', async () => {
    const { request } = await send({ protocol: 'oxp-wrapped' })

    expect(request?.body).toEqual({ $schema: 'urn:oxp:1.0', request: flat })
  })
})

describe('our server', () => {
  const { token, hash } = createToken()
  const add = operation('v1:Calculator.Add', {
    description: 'Adds two numbers',
    args: {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'number' }, b: { type: 'number', description: 'The second one' } },
    },
    requires: { userId: true, secrets: ['salt'] },
    run: ({ a, b }, ctx) => ({ sum: Number(a) + Number(b), user: ctx.userId, salt: ctx.secret('salt').length }),
  })
  const start = () =>
    startSite({ operations: [add], auth: { tokens: [{ hash, kind: 'bearer', subject: 'ada', scopes: [] }] } })

  test.each([
    ['oxp', ''],
    ['oxp-wrapped', ''],
    ['otc', '/otc'],
  ] as const)('%s: lists the tools and calls one with what it requires', async (protocol, path) => {
    const site = await start()
    const oxp = createOxpClient({ url: site.url + path, token, protocol })

    const tools = await oxp.tools()
    const context = { userId: 'u7', secrets: { salt: 'sodium' } }
    const { value } = await oxp.call('Calculator.Add', { a: 1, b: 2 }, { context, traceId: 'trace' })

    expect(tools).toEqual([
      {
        id: 'Calculator.Add@1.0.0',
        name: 'Calculator_Add',
        description: 'Adds two numbers',
        version: '1.0.0',
        inputSchema: expect.objectContaining({ type: 'object', required: ['a', 'b'] }),
        outputSchema: {},
        requirements: { authorization: [], secrets: ['salt'], userId: true },
      },
    ])
    expect(value).toEqual({ sum: 3, user: 'u7', salt: 6 })
  })

  test('each class of failure is an error that says whether the tool ran', async () => {
    const site = await start()
    const oxp = createOxpClient({ url: site.url, token })

    const unknown = await failureOf(oxp.call('Calculator.Subtract'))
    const invalid = await failureOf(oxp.call('Calculator.Add', { a: 10, b: 'infinity' }))
    const lacking = await failureOf(oxp.call('Calculator.Add', { a: 10, b: 5 }))
    const stranger = await failureOf(createOxpClient({ url: site.url, token: 'wrong' }).tools())

    expect(unknown).toMatchObject({ code: 'REFUSED', outcome: 'refused', status: 400, toolId: 'Calculator.Subtract' })
    expect(unknown.developerMessage).toContain('is not available')
    expect(invalid).toMatchObject({ code: 'INVALID_INPUT', status: 422, parameterErrors: { b: expect.any(String) } })
    expect(invalid.forModel()).toMatch(/^Some input parameters are invalid\nb: /)
    expect(lacking).toMatchObject({ code: 'MISSING_REQUIREMENTS', needsUserId: true, missingSecrets: ['salt'] })
    expect(stranger).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
  })

  test('a token function is asked before each request, and once more after a 401', async () => {
    const site = await start()
    const asked: (string | undefined)[] = []
    const oxp = createOxpClient({
      url: site.url,
      token: (refused) => {
        asked.push(refused)
        return refused === undefined ? 'expired' : token
      },
    })

    expect(await oxp.tools()).toHaveLength(1)
    expect(asked).toEqual([undefined, 'expired'])
  })
})

test('a client of known tools knows their inputs and values', () => {
  type Tools = { 'orders.getItem@1.0.0': { input: { orderId: string }; value: { price: number } } }
  const oxp = createOxpClient<Tools>({ url: 'https://tools.example' })

  expectTypeOf(oxp.call<'orders.getItem@1.0.0'>)
    .parameter(1)
    .toEqualTypeOf<{ orderId: string } | undefined>()
  expectTypeOf<Awaited<ReturnType<typeof oxp.call<'orders.getItem@1.0.0'>>>['value']>().toEqualTypeOf<{
    price: number
  }>()
})

test('an address that is no address of a server is refused when the client is made', () => {
  for (const url of ['', 'tools.example', 'javascript:alert(1)', 'file:///tools']) {
    expect(() => createOxpClient({ url })).toThrow('is not the address of a server')
  }
})
