/** Envelopes that are valid JSON but wrong: each error names the field, and unknown fields are ignored. */
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { expectRefusal, startServer, UUID } from './server.ts'

const OP = 'v1:Calculator.Add'
const ARGS = { a: 1, b: 2 }

const names: [what: string, op: string][] = [
  ['an unknown operation', 'v1:Calculator.Divide'],
  ['an unknown version', 'v2:Calculator.Add'],
  ['a name without a version', 'Calculator.Add'],
  ['version 0', 'v0:Calculator.Add'],
  ['a version with a leading zero', 'v01:Calculator.Add'],
  ['a version with a point', 'v1.0:Calculator.Add'],
  ['a negative version', 'v-1:Calculator.Add'],
  ['another case', 'V1:calculator.add'],
  ['a space at the end', 'v1:Calculator.Add '],
  ['nothing', ''],
  ['a path', 'v1:../../etc/passwd'],
  ['a NUL', 'v1:Calculator.Add\0'],
  ['100,000 characters', `v1:${'x'.repeat(100_000)}`],
  ['a word every object has', 'constructor'],
  ['a versioned word every object has', 'v1:__proto__'],
]

test.each(names)('%s as "op" is refused with 400 UNKNOWN_OP, never 404', async (_, op) => {
  verifies('opencall:018', 'opencall:108', 'opencall:129', 'opencall:130')
  const server = await startServer()

  const { requestId, message } = await expectRefusal(await server.call({ op, args: ARGS }), 400, 'UNKNOWN_OP')

  expect(requestId).toMatch(UUID)
  expect(message).toMatch(/The registry lists all operations/)
  expect(message.length).toBeLessThan(400)
  await server.expectUnharmed()
})

const media = (entry: unknown) => ({ op: 'v1:Files.Describe', media: [entry] })
const FILE = { name: 'file', mimeType: 'text/plain' }
const LONG = 'x'.repeat(300)
const notText: unknown[] = [null, 1, true, {}, [], '', LONG]
const notId: unknown[] = [null, 1, true, {}, [], '', LONG, 'a b', 'a/b', '../x', 'a\nb', 'ä']

/** Every field of the envelope with every wrong kind of value, and the field the refusal must name. */
const wrong: [field: string, envelope: object][] = [
  ...wrongly('op', [undefined, null, 1, true, {}, [OP]], (op) => ({ op, args: ARGS })),
  ...wrongly('args', [null, 1, 'a=1', true, [1, 2]], (args) => ({ op: OP, args })),
  ...wrongly('ctx', [null, 1, 'abc', true, []], (ctx) => ({ op: OP, args: ARGS, ctx })),
  ...wrongly('ctx.requestId', notId, (requestId) => ({ op: OP, args: ARGS, ctx: { requestId } })),
  ...['sessionId', 'parentId', 'idempotencyKey', 'locale', 'traceparent'].flatMap((field) =>
    wrongly(`ctx.${field}`, notText, (value) => ({ op: OP, args: ARGS, ctx: { requestId: 'r-1', [field]: value } })),
  ),
  ...wrongly('ctx.timeoutMs', [null, '100', true, {}, [], -1], (timeoutMs) => ({ op: OP, args: ARGS, ctx: { timeoutMs } })),
  ...wrongly('auth', [null, 1, 'Bearer x', true, []], (auth) => ({ op: OP, args: ARGS, auth })),
  ...wrongly('auth.iss', [undefined, null, 1], (iss) => ({ op: OP, args: ARGS, auth: { iss, sub: 's', credentialType: 'c' } })),
  ...wrongly('auth.sub', [undefined, null, 1], (sub) => ({ op: OP, args: ARGS, auth: { iss: 'i', sub, credentialType: 'c' } })),
  ...wrongly('auth.credentialType', [undefined, {}], (credentialType) => ({ op: OP, args: ARGS, auth: { iss: 'i', sub: 's', credentialType } })),
  ...wrongly('auth.credential', [null, 1, {}], (credential) => ({ op: OP, args: ARGS, auth: { iss: 'i', sub: 's', credentialType: 'c', credential } })),
  ...wrongly('media', [null, 1, 'file', true, {}, Array.from({ length: 101 }, () => ({ ...FILE, part: 'p' }))], (value) => ({ op: 'v1:Files.Describe', media: value })),
  ...wrongly('media[0]', [null, 1, 'file', [], FILE, { ...FILE, ref: 'https://x.example/', part: 'p' }], media),
  ...wrongly('media[0].name', [undefined, null, 1, ''], (name) => media({ ...FILE, name, part: 'p' })),
  ...wrongly('media[0].mimeType', [undefined, null, 1, '', 'png', 'image/', 'text/plain\r\nX: y', 'a b/c', 'é/x'], (mimeType) => media({ ...FILE, mimeType, part: 'p' })),
  ...wrongly('media[0].part', [null, 1, '', {}], (part) => media({ ...FILE, part })),
  ...wrongly('media[0].ref', [null, 1, '', {}, 'not a uri', '/relative'], (ref) => media({ ...FILE, ref })),
] // biome-ignore format: a table

function wrongly(field: string, values: readonly unknown[], envelope: (value: unknown) => object): [string, object][] {
  return values.map((value) => [field, envelope(value)])
}

test('a wrong kind of value in any field is refused with 400, and the refusal names the field', async () => {
  verifies('opencall:019', 'opencall:022', 'opencall:024', 'opencall:025', 'opencall:026', 'opencall:028')
  verifies('opencall:107', 'opencall:129', 'opencall:130', 'opencall:139')
  const server = await startServer()

  for (const [field, envelope] of wrong) {
    const response = await server.call(envelope)

    const { cause, message } = await expectRefusal(response, 400, 'INVALID_REQUEST')
    expect({ field: cause?.field, envelope }).toEqual({ field, envelope })
    expect(message).toContain(`"${field}"`)
  }
  await server.expectUnharmed()
})

test('a refusal carries the request id of the envelope wherever that can be read', async () => {
  verifies('opencall:032', 'opencall:130')
  const server = await startServer()

  const wrongArgs = await server.call({ op: OP, args: 5, ctx: { requestId: 'mine-1', sessionId: 's' } })
  const wrongContext = await server.call({ op: OP, args: ARGS, ctx: { requestId: 'mine-2', locale: 5 } })
  const unknownOp = await server.call({ op: 'v1:No.Such', ctx: { requestId: 'mine-3' } })

  expect((await expectRefusal(wrongArgs, 400, 'INVALID_REQUEST')).requestId).toBe('mine-1')
  expect((await expectRefusal(wrongContext, 400, 'INVALID_REQUEST')).requestId).toBe('mine-2')
  expect((await expectRefusal(unknownOp, 400, 'UNKNOWN_OP')).requestId).toBe('mine-3')
  await server.expectUnharmed()
})

test('arguments that break the schema are refused with every problem and where it is', async () => {
  verifies('opencall:020', 'opencall:109', 'opencall:129')
  const server = await startServer()

  const response = await server.call({ op: OP, args: { a: '1' } })

  const { message, cause } = await expectRefusal(response, 400, 'VALIDATION_ERROR')
  expect(`${message} ${JSON.stringify(cause)}`).toMatch(/a\b.*b\b/s)
  await server.expectUnharmed()
})

test('a call with side effects and no idempotency key is refused before anything is written', async () => {
  const server = await startServer()

  const response = await server.call({ op: 'v1:Cards.Charge', args: { amount: 5 } })

  expect((await expectRefusal(response, 400, 'IDEMPOTENCY_KEY_REQUIRED')).message).toMatch(/Send an idempotency key/)
  await server.expectUnharmed()
})

test('unknown fields are ignored at every level', async () => {
  verifies('opencall:047')
  const server = await startServer()

  const response = await server.call({
    op: OP,
    args: ARGS,
    version: 9,
    meta: { anything: [1, 2, 3] },
    ctx: { requestId: 'r-1', priority: 'high', nested: { deep: true } },
    auth: { iss: 'i', sub: 's', credentialType: 'c', more: 1 },
    media: [],
  })

  expect(await response.json()).toEqual({ requestId: 'r-1', state: 'complete', result: 3 })
  await server.expectUnharmed()
})

const poisoned = [
  `{"op":"v1:Calculator.Add","args":{"a":1,"b":2},"__proto__":{"op":"v1:No.Such","polluted":1}}`,
  `{"op":"v1:Calculator.Add","args":{"a":1,"b":2},"constructor":{"prototype":{"polluted":1}}}`,
  `{"op":"v1:Calculator.Add","args":{"a":1,"b":2},"ctx":{"requestId":"r-1","__proto__":{"sessionId":5,"polluted":1}}}`,
  `{"op":"v1:Calculator.Add","args":{"a":1,"b":2},"ctx":{"constructor":{"prototype":{"polluted":1}},"toString":1}}`,
  `{"op":"v1:Calculator.Add","args":{"a":1,"b":2,"constructor":{"prototype":{"polluted":1}}}}`,
]

test('prototype keys are plain data: no object inherits from them and no other call sees them', async () => {
  const server = await startServer()

  for (const body of poisoned) {
    const response = await server.send(body, { 'Content-Type': 'application/json' })

    expect(await response.json(), body).toMatchObject({ state: 'complete', result: 3 })
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  }
  await server.expectUnharmed()
})

test('a missing field is not found in what an object inherits', async () => {
  const server = await startServer()

  const op = await server.send(`{"__proto__":{"op":"v1:Calculator.Add"}}`, { 'Content-Type': 'application/json' })
  const args = await server.send(`{"op":"${OP}","args":{"__proto__":{"a":1,"b":2}}}`, {
    'Content-Type': 'application/json',
  })
  const entry = await server.send(
    `{"op":"v1:Files.Describe","media":[{"__proto__":{"name":"file"},"mimeType":"text/plain","part":"p"}]}`,
    { 'Content-Type': 'application/json' },
  )

  await expectRefusal(op, 400, 'INVALID_REQUEST')
  await expectRefusal(args, 400, 'VALIDATION_ERROR')
  expect((await expectRefusal(entry, 400, 'INVALID_REQUEST')).message).toMatch(/"media\[0\]\.name"/)
  await server.expectUnharmed()
})

test('inside arguments, names that objects inherit are data, and the one a handler could trip over is refused', async () => {
  const server = await startServer()
  const args = '{"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":3}'
  const send = (text: string) =>
    server.send(`{"op":"v1:Mirror.Echo","args":${text}}`, { 'Content-Type': 'application/json' })

  const harmless = await send(args)
  const reserved = await send('{"deep":[{"__proto__":{"polluted":1}}]}')

  expect(await harmless.text()).toContain(`"result":${args}`)
  expect((await expectRefusal(reserved, 400, 'VALIDATION_ERROR')).message).toMatch(/reserved name; use another/)
  await server.expectUnharmed()
})

test('an attachment named after a prototype key is an undeclared attachment', async () => {
  verifies('opencall:023')
  const server = await startServer()

  for (const name of ['__proto__', 'constructor', 'toString', 'other']) {
    const response = await server.call({
      op: 'v1:Files.Describe',
      media: [{ name, mimeType: 'text/plain', ref: 'https://files.example/x' }],
    })

    expect((await expectRefusal(response, 400, 'UNKNOWN_MEDIA')).message).toMatch(/It takes: file, note/)
  }
  await server.expectUnharmed()
})
