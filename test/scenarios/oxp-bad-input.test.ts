/** Invalid requests to `POST /tools/call`: the message, the dialect, and the order of the checks. */
import { createToken, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { verifies } from '../requirements.ts'
import { oxpClient } from './oxp.ts'
import { createGate, startSite } from './server.ts'

const operations = Object.values(quickstart)
const CALL = { tool_id: 'Calculator.Add', input: { a: 1, b: 2 } }

describe('tool ids', () => {
  test.each([
    'nonsense',
    '',
    '.',
    'Calculator.',
    '.Add',
    'Calculator.Add.More',
    'Calculator.Add@',
    'Calculator.Add@1.2',
    'Calculator.Add@-1',
    'Calculator.Add@1.0.0-rc1',
    'Calculator.Add@v1',
    'Calculator.Add@1.0.0.0',
    'Calculator.Add@latest',
    'Calculator.Add@1 ',
    ' Calculator.Add',
    'Calculator/Add',
    'Calculator.Ädd',
    `Calculator.${'A'.repeat(300)}`,
  ])('%j is not a tool id: 400', async (tool) => {
    verifies('oxp:27', 'oxp:30', 'oxp:31')
    const { url } = await startSite({ operations })

    const { status, body } = await oxpClient(url).call(tool, { a: 1, b: 2 })

    expect(status).toBe(400)
    expect(body.message).toMatch(/is not a tool ID$/)
    expect(body.developer_message).toContain('Toolkit.Tool@1.2.0')
    expect(body.message.length).toBeLessThan(250)
  })

  test.each([
    ['No.Such', 'No_Such', 'No.Such is not available'],
    ['calculator.add', 'calculator_add', 'calculator.add is not available'],
    ['CALCULATOR.ADD@1.0.0', 'CALCULATOR_ADD', 'CALCULATOR.ADD version 1.0.0 is not available'],
    ['Calculator.Add@3', 'Calculator_Add', 'Calculator.Add version 3.0.0 is not available'],
    ['Calculator.Add@01.0.0', 'Calculator_Add', 'Calculator.Add version 01.0.0 is not available'],
    ['constructor.constructor', 'constructor_constructor', 'constructor.constructor is not available'],
    // It cannot run without an attachment, which tools do not have; and this one is past its sunset.
    ['Files.Describe', 'Files_Describe', 'Files.Describe is not available'],
    ['Greeter.Hello@1', 'Greeter_Hello', 'Greeter.Hello version 1.0.0 is not available'],
  ])('%s does not exist: 400', async (tool, name, why) => {
    verifies('oxp:27', 'oxp:28', 'oxp:33')
    const { url } = await startSite({ operations })

    const { status, body } = await oxpClient(url).call(tool, {})

    expect(status).toBe(400)
    expect(body).toEqual({ message: `Tool '${name}' was not found`, developer_message: why })
  })
})

describe('envelopes', () => {
  test.each<[what: string, body: unknown, complaint: RegExp]>([
    ['a list', [], /must be a JSON object/],
    ['null', null, /must be a JSON object/],
    ['a text', '"Calculator.Add"', /must be a JSON object/],
    ['not JSON', '{"tool_id":', /not JSON/],
    ['nothing', '', /not JSON/],
    ['a key twice', '{"tool_id":"Calculator.Add","tool_id":"Text.Shout"}', /same key twice/],
    ['neither tool_id nor request', {}, /names no tool/],
    ['request and tool_id', { ...CALL, request: CALL }, /both "tool_id" and "request"/],
    ['tool_id as a number', { ...CALL, tool_id: 7 }, /"tool_id" must be a string/],
    ['input as a list', { ...CALL, input: [1, 2] }, /"input" must be an object/],
    ['input as null', { ...CALL, input: null }, /"input" must be an object/],
    ['an unknown field', { ...CALL, args: {} }, /"args" is not a field/],
    ['$schema in a flat call', { ...CALL, $schema: 'urn:oxp:1.0' }, /"\$schema" is not a field/],
    ['an empty call_id', { ...CALL, call_id: '' }, /"call_id" must be a string of 1 to 256/],
    ['call_id as a number', { ...CALL, call_id: 1 }, /"call_id" must be a string/],
    ['a long call_id', { ...CALL, call_id: 'x'.repeat(257) }, /"call_id" must be a string/],
    ['trace_id as an object', { ...CALL, trace_id: {} }, /"trace_id" must be a string/],
    ['context as a text', { ...CALL, context: 'x' }, /"context" must be an object/],
    [
      'authorization as an object',
      { ...CALL, context: { authorization: {} } },
      /"context.authorization" must be an array/,
    ],
    ['a token without id', { ...CALL, context: { authorization: [{ token: 't' }] } }, /authorization\[0\]\.id/],
    [
      'a token as a number',
      { ...CALL, context: { authorization: [{ id: 'g', token: 1 }] } },
      /authorization\[0\]\.token/,
    ],
    ['a secret without value', { ...CALL, context: { secrets: [{ id: 'k' }] } }, /secrets\[0\]\.value/],
    [
      'the same secret twice',
      {
        ...CALL,
        context: {
          secrets: [
            { id: 'k', value: '1' },
            { id: 'k', value: '2' },
          ],
        },
      },
      /two entries with the id "k"/,
    ],
    ['user_id as null', { ...CALL, context: { user_id: null } }, /"context.user_id" must be a string/],
  ])('%s: 400 that says what is wrong', async (_what, body, complaint) => {
    verifies('oxp:24', 'oxp:30')
    const { url } = await startSite({ operations })

    const answer = await oxpClient(url).send(body)

    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ message: expect.stringMatching(complaint) })
  })

  test.each<[what: string, body: unknown, complaint: RegExp]>([
    ['request as a list', { request: [] }, /"request" must be an object/],
    ['an unknown field beside request', { request: CALL, other: 1 }, /"other" is not a field/],
    ['an unknown field in request', { request: { ...CALL, other: 1 } }, /"other" is not a field/],
    ['a request without tool_id', { request: {} }, /"tool_id" must be a string/],
    ['input as a list', { request: { ...CALL, input: [] } }, /"input" must be an object/],
    ['otc://9.0', { $schema: 'otc://9.0', request: CALL }, /"otc:\/\/9\.0" as "\$schema" is not supported/],
    ['otc://1', { $schema: 'otc://1', request: CALL }, /is not supported/],
    ['another schema', { $schema: 'https://example.com/1.0', request: CALL }, /is not supported/],
    ['a schema that is not text', { $schema: 1, request: CALL }, /is not supported/],
  ])('wrapped, %s: 400 with $schema beside the message', async (_what, body, complaint) => {
    verifies('oxp:24', 'oxp:26')
    const { url } = await startSite({ operations })

    for (const path of ['/tools/call', '/otc/tools/call']) {
      const answer = await oxpClient(url).send(body, {}, path)

      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ $schema: 'otc://1.0', message: expect.stringMatching(complaint) })
    }
  })

  test('an OXP version that is not 1.0 is 400, in the header and in the body; 1.0.x is 1.0', async () => {
    verifies('oxp:06', 'oxp:26')
    const { url } = await startSite({ operations })
    const client = oxpClient(url)
    const withHeader = (version: string) => client.send(CALL, { 'OXP-Version': version })

    const refused = await Promise.all(['9.0', '2.0', '1', '1.1', '1.0-beta', 'latest', ''].map(withHeader))
    const served = await Promise.all(['1.0', '1.0.0', '1.0.7'].map(withHeader))
    const wrapped = await client.send({ $schema: 'urn:oxp:2.0', request: CALL })
    const byUrl = await client.send({
      $schema: 'https://github.com/OpenToolCalling/Specification/tree/main/spec/http/1.0/openapi.json',
      request: CALL,
    })
    const without = await client.send(CALL)

    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400, 400])
    expect(refused[0]?.body.message).toBe('OXP-Version 9.0 is not supported')
    expect(served.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(wrapped).toMatchObject({ status: 400, body: { $schema: 'urn:oxp:1.0' } })
    expect([byUrl.status, without.status]).toEqual([200, 200])
  })

  test('below /otc only OTC is spoken', async () => {
    const { url } = await startSite({ operations })
    const client = oxpClient(url)

    const bare = await client.send(CALL, {}, '/otc/tools/call')
    const oxp = await client.send({ $schema: 'urn:oxp:1.0', request: CALL }, {}, '/otc/tools/call')

    expect(bare).toMatchObject({
      status: 400,
      body: { $schema: 'otc://1.0', message: expect.stringContaining('"request"') },
    })
    expect(oxp).toMatchObject({ status: 400, body: { $schema: 'otc://1.0' } })
  })

  test('a body that is not application/json is 400, so a form on a page cannot call a tool; a page of another site is refused', async () => {
    const { url } = await startSite({ operations })
    const text = JSON.stringify(CALL)
    const client = oxpClient(url)

    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      expect((await client.send(text, { 'Content-Type': type })).status).toBe(400)
    }
    const elsewhere = await client.send(CALL, { Origin: 'https://evil.example' })
    const here = await client.send(CALL, { Origin: url })

    expect(elsewhere.status).toBe(400)
    expect(elsewhere.body.value).toBeUndefined()
    expect(here.status).toBe(200)
  })

  test('a body past the limit is 400', async () => {
    const { url } = await startSite({ operations, sizes: { envelopeBytes: 100 } })

    const { status } = await oxpClient(url).send({ ...CALL, input: { a: 1, b: 2, c: 'x'.repeat(100) } })

    expect(status).toBe(400)
  })
})

describe('paths and methods', () => {
  test.each([
    ['/health', 'GET, HEAD'],
    ['/tools', 'GET, HEAD'],
    ['/tools/call', 'POST'],
    ['/otc/health', 'GET, HEAD'],
    ['/otc/tools', 'GET, HEAD'],
    ['/otc/tools/call', 'POST'],
  ])('%s takes its own methods, answers OPTIONS and refuses others with Allow', async (path, allow) => {
    verifies('oxp:01')
    const { url } = await startSite({ operations })

    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((each) => !allow.includes(each))) {
      const response = await fetch(url + path, { method })

      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, allow])
      expect(await response.json()).toMatchObject({
        message: `This path accepts only ${allow}.`,
        ...(path.startsWith('/otc') && { $schema: 'otc://1.0' }),
      })
    }
    const options = await fetch(url + path, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, `${allow}, OPTIONS`])
  })
})

describe('input', () => {
  const ran: unknown[] = []
  const order = operation('v1:orders.place', {
    args: {
      type: 'object',
      required: ['city', 'lines'],
      additionalProperties: false,
      properties: {
        city: { type: 'string', minLength: 2 },
        express: { type: 'boolean' },
        note: { type: ['string', 'null'] },
        address: { $ref: '#/$defs/address' },
        lines: {
          type: 'array',
          items: {
            type: 'object',
            required: ['price'],
            properties: { price: { type: 'number', exclusiveMinimum: 0 }, count: { type: 'integer' } },
          },
        },
      },
      $defs: {
        address: {
          type: 'object',
          required: ['zip'],
          properties: { zip: { type: 'string' }, 'a.b/c': { type: 'string' } },
        },
      },
    },
    run: (args) => {
      ran.push(args)
      return null
    },
  })

  test('every wrong parameter has a readable message under its path, and the tool does not run', async () => {
    verifies('oxp:39', 'oxp:40', 'oxp:41', 'oxp:23')
    const { url } = await startSite({ operations: [order] })

    const { status, body } = await oxpClient(url).call('orders.place', {
      express: 'yes',
      note: 7,
      address: { 'a.b/c': 1 },
      lines: [{ price: 0, count: 1.5 }, {}, 'x'],
      planet: 'Mars',
    })

    expect(status).toBe(422)
    expect(body).toEqual({
      message: 'Some input parameters are invalid',
      parameter_errors: {
        city: 'Is required',
        express: 'Must be true or false',
        note: 'Must be a string or null',
        'address.zip': 'Is required',
        'address.a.b/c': 'Must be a string',
        'lines.0.price': 'Must be > 0',
        'lines.0.count': 'Must be a whole number',
        'lines.1.price': 'Is required',
        'lines.2': 'Must be an object',
        planet: 'Is not a known field',
      },
    })
    expect(ran).toEqual([])
  })

  test('no input is an empty one, which is validated as any other', async () => {
    verifies('oxp:39')
    const { url } = await startSite({ operations: [...operations, order] })
    const client = oxpClient(url)

    const missing = await client.call('Calculator.Add')
    const optional = await client.call('Pictures.Draw')

    expect(missing).toMatchObject({ status: 422, body: { parameter_errors: { a: 'Is required', b: 'Is required' } } })
    expect(optional).toMatchObject({ status: 200, body: { success: true } })
  })

  test('an error that concerns the whole input is under "input"', async () => {
    const { z } = await import('zod')
    const between = operation('v1:dates.between', {
      args: z
        .object({ from: z.number(), to: z.number() })
        .refine(({ from, to }) => from <= to, 'ends before it begins'),
      run: () => null,
    })
    const { url } = await startSite({ operations: [between] })

    const { status, body } = await oxpClient(url).call('dates.between', { from: 2, to: 1 })

    expect(status).toBe(422)
    expect(body.parameter_errors).toEqual({ input: 'Ends before it begins' })
  })
})

describe('the order of the checks', () => {
  const { token, hash } = createToken()
  const auth = { tokens: [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: [] }] }
  const locked = operation('v1:vault.open', {
    args: { type: 'object', required: ['door'], properties: { door: { type: 'string' } } },
    requires: { userId: true },
    run: () => null,
  })

  test('authentication, version, envelope, tool, input, requirements: each corrected step shows the next error', async () => {
    verifies('oxp:23', 'oxp:24', 'oxp:29', 'oxp:39')
    const { url } = await startSite({ operations: [locked], auth })
    const client = oxpClient(url)
    const as = { Authorization: `Bearer ${token}` }
    const worst = { tool_id: 'vault.close', input: {}, nonsense: 1 }

    const answers = [
      await client.send(worst, { 'OXP-Version': '9.0' }),
      await client.send('{', { 'OXP-Version': '9.0' }),
      await client.send(worst, { ...as, 'OXP-Version': '9.0' }),
      await client.send(worst, as),
      await client.send({ tool_id: 'vault.close', input: {} }, as),
      await client.send({ tool_id: 'vault.open@2', input: {} }, as),
      await client.send({ tool_id: 'vault.open', input: {} }, as),
      await client.send({ tool_id: 'vault.open', input: { door: 'front' } }, as),
      await client.send({ tool_id: 'vault.open', input: { door: 'front' }, context: { user_id: 'u' } }, as),
    ]

    expect(answers.map(({ status, body }) => [status, body.message ?? body.success])).toEqual([
      [400, expect.stringContaining('needs authentication')],
      [400, expect.stringContaining('needs authentication')],
      [400, expect.stringContaining('OXP-Version 9.0')],
      [400, expect.stringContaining('"nonsense" is not a field')],
      [400, "Tool 'vault_close' was not found"],
      [400, "Tool 'vault_open' was not found"],
      [422, 'Some input parameters are invalid'],
      [400, expect.stringContaining('needs to know for which user it acts')],
      [200, true],
    ])
  })
})

test('a server that shuts down says so with 400 on calls and 503 on /health', async () => {
  verifies('oxp:25')
  const gate = createGate<string>()
  const site = await startSite({ operations: [...operations, operation('v1:slow.wait', { run: () => gate.pass() })] })
  const client = oxpClient(site.url)
  // Connections that wait for an answer stay open while the server closes.
  const waiting = client.call('slow.wait', {})
  await gate.began
  const before = await fetch(`${site.url}/health`)

  site.server.engine.drain()
  const refused = await client.send(CALL)
  const health = await Promise.all(['/health', '/otc/health'].map((path) => fetch(site.url + path)))
  gate.open('done')

  expect([before.status, before.headers.get('oxp-version')]).toEqual([200, '1.0'])
  expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('shutting down') } })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(health.map(({ status }) => status)).toEqual([503, 503])
  expect((await waiting).body).toMatchObject({ success: true, value: 'done' })
})

test('too many calls, and no room to run one, are 400 before the tool is called', async () => {
  verifies('oxp:24', 'oxp:25')
  const gate = createGate<string>()
  const one = operation('v1:slow.wait', { concurrency: 1, run: () => gate.pass() })
  const site = await startSite({ operations: [one], limits: { callsPerSecond: 0.001, callBurst: 2 } })
  const client = oxpClient(site.url)

  const first = client.call('slow.wait', {})
  await gate.began
  const busy = await client.call('slow.wait', {})
  const tooMany = await client.call('slow.wait', {})
  gate.open('done')

  expect(busy).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('has reached its concurrency limit') },
  })
  expect(tooMany).toMatchObject({ status: 400, body: { message: expect.stringContaining('Too many calls') } })
  expect(tooMany.headers.get('retry-after')).not.toBeNull()
  expect((await first).status).toBe(200)
})
