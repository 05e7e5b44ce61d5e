import { operation } from 'callplane'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Fault, type FaultKind } from '../../../src/core/fault.ts'
import type { JsonObject, JsonValue } from '../../../src/core/json.ts'
import { decodeResponse } from '../../../src/protocols/contract/client.ts'
import { encodeOutput } from '../../../src/protocols/contract/output.ts'
import { verifies } from '../../requirements.ts'
import { decodeAsGo } from './go-types.ts'
import { openHost, request } from './host.ts'
import { grpcPeer } from './peer.ts'

const RESULTS: readonly [string, JsonValue, string][] = [
  ['an object', { rows: 3, ok: true }, '{"rows":3,"ok":true}'],
  ['an object with a result of its own', { result: 5, of: 'it' }, '{"result":5,"of":"it"}'],
  ['an object with fields spelt like result', { Result: 5, RESULT: [1] }, '{"Result":5,"RESULT":[1]}'],
  ['an empty object', {}, '{}'],
  ['a text', 'plain words', 'plain words'],
  ['a number', 42, '42'],
  ['a list', [1, 'two', { three: 3 }], '[1,"two",{"three":3}]'],
  ['null', null, 'null'],
  ['a truth', true, 'true'],
]

test.each(RESULTS)('%s has a text `result` that types of strings can hold', async (_name, result, text) => {
  verifies('contract:033')
  const give = operation('v1:a.give', { run: () => result })
  const { url, grpcPort } = await openHost({ operations: [give] })

  const overHttp = await post(`${url}/tool-contract/v1/execute`, request('r1', 'a_give'))
  const overGrpc = await grpcPeer(`http://127.0.0.1:${grpcPort}`)(request('r2', 'a_give'))

  expect(decodeAsGo(overHttp).output).toEqual({ result: text })
  expect(decodeAsGo(JSON.stringify(overGrpc)).output).toEqual({ result: text })
})

test('the fields of an object are next to the text, so that others need not parse it', async () => {
  const give = operation('v1:a.give', { run: () => ({ rows: 3, nested: { deep: [1] } }) })
  const { execute } = await openHost({ operations: [give] })

  const { body } = await execute(request('r1', 'a_give'))

  expect(body.output).toEqual({ rows: 3, nested: { deep: [1] }, result: '{"rows":3,"nested":{"deep":[1]}}' })
})

test('a result that is bytes has its address as text, too', async () => {
  const give = operation('v1:a.give', { chunked: { mimeType: 'text/plain' }, run: () => ['bytes'] })
  const { url, execute } = await openHost({ operations: [give] })

  const { body } = await execute(request('r1', 'a_give'))

  const location = { location: `${url}/objects/1`, mime_type: 'text/plain' }
  expect(body.output).toEqual({ ...location, result: JSON.stringify(location) })
})

const FACTS = { timeoutMs: 15_000, missing: ['orders:write'], nested: { n: 1 }, flag: true, none: null, said: 'text' }

const KINDS: readonly FaultKind[] = ['timeout', 'forbidden', 'domain', 'upstream', 'conflict', 'removed', 'canceled']

test.each(KINDS)('with text details, types of strings can hold a failure of kind %s', async (kind) => {
  verifies('contract:044', 'contract:063')
  const fails = operation('v1:a.fail', {
    run: () => {
      throw new Fault(kind, 'It failed.', { code: 'OWN', retryAfterMs: 1_500, details: FACTS })
    },
  })
  const { url, grpcPort } = await openHost({ operations: [fails], details: 'strings' })

  const overHttp = decodeAsGo(await post(`${url}/tool-contract/v1/execute`, request('r1', 'a_fail')))
  const overGrpc = decodeAsGo(JSON.stringify(await grpcPeer(`http://127.0.0.1:${grpcPort}`)(request('r2', 'a_fail'))))

  for (const { error } of [overHttp, overGrpc]) {
    expect(error).toMatchObject({ message: 'It failed.', retryable: expect.any(Boolean) })
    expect(error?.details).toMatchObject({
      timeout_ms: '15000',
      retry_after_ms: '1500',
      missing: '["orders:write"]',
      nested: '{"n":1}',
      flag: 'true',
      none: 'null',
      said: 'text',
    })
  }
})

test('with text details, refusals that never reach a tool can be held, too', async () => {
  const { url } = await openHost({ operations: [], details: 'strings' })
  const bodies = await Promise.all([
    post(`${url}/tool-contract/v1/execute`, request('r1', 'nothing_there')),
    post(`${url}/tool-contract/v1/execute`, { request_id: 'r2', tool_contract_version: 'v9' }),
    post(`${url}/tool-contract/v1/execute`, '{'),
    fetch(`${url}/tool-contract/v1/execute`).then((response) => response.text()),
    fetch(`${url}/tool-contract/v1/jobs/none`).then((response) => response.text()),
  ])

  for (const body of bodies) expect(decodeAsGo(body)).toMatchObject({ status: 'error', error: { retryable: false } })
})

test('details keep their types unless the operator says otherwise, as the example of the document has them', async () => {
  verifies('contract:063')
  const fails = operation('v1:a.fail', {
    run: () => {
      throw new Fault('timeout', 'Too slow.', { details: { timeoutMs: 15_000 } })
    },
  })
  const { url, execute } = await openHost({ operations: [fails] })

  expect((await execute(request('r1', 'a_fail'))).body.error?.details).toEqual({ timeout_ms: 15_000 })
  const text = await post(`${url}/tool-contract/v1/execute`, request('r2', 'a_fail'))
  expect(() => decodeAsGo(text)).toThrow('error.details.timeout_ms of type string')
})

const objects = fc.dictionary(
  fc.oneof(fc.constantFrom('result', 'Result', 'RESULT', 'reſult', '__proto__'), fc.string()),
  fc.jsonValue(),
) as fc.Arbitrary<JsonObject>

test('an object is read back unchanged from the response', () => {
  fc.assert(
    fc.property(objects, (given) => {
      const sent = JSON.parse(JSON.stringify(given)) as JsonObject
      const answer = JSON.stringify({ request_id: 'r1', status: 'ok', output: encodeOutput(sent) })

      expect(decodeAsGo(answer).output?.result).toBe(JSON.stringify(sent))
      expect(JSON.stringify(decodeResponse(answer, 'r1'))).toBe(JSON.stringify(sent))
    }),
  )
})

test.each([
  ['a text', { result: 'plain words' }],
  ['JSON text beside nothing', { result: '{"temperature":20}' }],
  ['JSON text beside other fields', { result: '{"temperature":20}', unit: 'C' }],
  ['JSON text that breaks off', { result: '{"temperature":' }],
  ['a number', { result: 7, more: true }],
])('the output of another tool is used unchanged: %s', (_name, output) => {
  expect(decodeResponse(JSON.stringify({ request_id: 'r1', status: 'ok', output }), 'r1')).toEqual(output)
})

async function post(url: string, body: object | string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return response.text()
}
