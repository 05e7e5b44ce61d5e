import { expect, test } from 'vitest'
import { createHttpBackend } from '../../src/backends/http/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { backendContext, type ContextOptions, KEY, tokens } from './context.ts'
import { openTool, partsWith, type Respond } from './tool-server.ts'

const clock = createManualClock()

async function open(respond: Respond, settings: object = {}) {
  const tool = await openTool(respond)
  const spec = { kind: 'http', endpoint: `${tool.url}/search?lang=en`, allowPrivate: true, ...settings }
  const backend = createHttpBackend(spec, partsWith(clock))
  return {
    tool,
    run: async (args: unknown, options?: ContextOptions) => backend.execute(args, backendContext(options)),
  }
}

const answering =
  (body: string, status = 200, headers: Record<string, string> = {}): Respond =>
  (_asked, response) =>
    response.writeHead(status, headers).end(body)

test('the input is the body of a POST: an object as JSON, text as it is', async () => {
  verifies('contract:126')
  const { tool, run } = await open(answering('fine'), { headers: { Accept: 'text/plain' } })

  await run({ query: 'größe' })
  await run('größe')

  expect(tool.asked).toMatchObject([
    {
      method: 'POST',
      path: '/search?lang=en',
      body: '{"query":"größe"}',
      headers: { 'content-type': 'application/json', accept: 'text/plain', 'x-request-id': KEY },
    },
    { body: 'größe', headers: { 'content-type': 'text/plain; charset=utf-8', 'x-request-id': KEY } },
  ])
})

const envelope = (more: object) => JSON.stringify({ tool_contract_version: 'v1', request_id: 'its own', ...more })

test.each([
  ['text', 'sunny\n', { result: 'sunny\n' }],
  ['nothing', '', { result: '' }],
  ['a JSON object', '{"sky":"blue"}', { sky: 'blue' }],
  ['JSON that is not an object', '[1,2]', { result: '[1,2]' }],
  ['JSON that breaks off', '{"sky":', { result: '{"sky":' }],
  ['an object that only has a status', '{"status":"ok","items":[]}', { status: 'ok', items: [] }],
  ['an envelope with its version', envelope({ status: 'ok', output: { sky: 'grey' } }), { sky: 'grey' }],
  ['an envelope without its version', '{"status":"ok","output":{"sky":"red"}}', { sky: 'red' }],
])('the answer may be %s', async (_, body, result) => {
  verifies('contract:127', 'contract:128')
  const { run } = await open(answering(body))

  expect(await run({})).toEqual(result)
})

test('an envelope that tells of a failure is one', async () => {
  verifies('contract:128')
  const error = { code: 'permission_denied', retryable: false, message: 'Not for you.', details: { policy_ref: 'p#1' } }
  const { run } = await open(answering(envelope({ status: 'denied', error })))

  await expect(run({})).rejects.toMatchObject({
    kind: 'forbidden',
    message: 'Not for you.',
    details: { policy_ref: 'p#1' },
  })
})

test.each([
  [429, { 'Retry-After': '7' }, { kind: 'upstream', retryable: true, retryAfterMs: 7_000 }],
  [500, {}, { kind: 'upstream', retryable: true, retryAfterMs: undefined }],
  [503, { 'Retry-After': new Date(clock.now() + 90_000).toUTCString() }, { retryable: true, retryAfterMs: 90_000 }],
  [400, {}, { kind: 'upstream', retryable: false }],
  [404, {}, { kind: 'upstream', retryable: false }],
  [408, {}, { kind: 'upstream', retryable: false }],
  [403, {}, { kind: 'credential-forbidden', retryable: false }],
  [302, { Location: 'http://169.254.169.254/' }, { kind: 'upstream', retryable: false }],
])('the status %i has its place in the table', async (status, headers, fault) => {
  verifies('contract:098', 'contract:129', 'contract:130', 'contract:131')
  const { tool, run } = await open(answering('{"status":"ok","output":{}}', status, headers))

  await expect(run({})).rejects.toMatchObject({ ...fault, details: { http_status: status } })
  expect(tool.asked).toHaveLength(1)
})

const needsToken =
  (good: string): Respond =>
  ({ headers }, response) =>
    response.writeHead(headers.authorization === `Bearer ${good}` ? 200 : 401).end('in')

test('a remembered credential that is refused is evicted, and a fresh one is shown once', async () => {
  verifies('contract:119')
  const { tool, run } = await open(needsToken('fresh'))
  const { credential, refused } = tokens('stale', 'fresh')

  expect(await run({}, { credential })).toEqual({ result: 'in' })
  expect(refused).toEqual(['stale'])
  expect(tool.asked).toHaveLength(2)
})

test.each([
  ['without a credential', undefined, 1],
  ['with a token that is not cached', tokens('wrong').credential, 1],
  ['with a fresh one after the first', tokens('stale', 'wrong too').credential, 2],
])('401 %s is the end', async (_, credential, requests) => {
  verifies('contract:097')
  const { tool, run } = await open(needsToken('right'))

  await expect(run({}, credential && { credential })).rejects.toMatchObject({
    kind: 'credential-invalid',
    retryable: false,
  })
  expect(tool.asked).toHaveLength(requests)
})

test('a message never holds the address beyond its host, nor the credential', async () => {
  const { tool, run } = await open((_asked, response) => response.destroy(), {})
  const { credential } = tokens('very-secret')

  const thrown = await run({ arg: 'private' }, { credential }).catch((error: Error) => error)

  const told = JSON.stringify({ ...(thrown as object), message: (thrown as Error).message })
  expect(told).toContain(new URL(tool.url).host)
  for (const secret of ['very-secret', '/search', 'private']) expect(told).not.toContain(secret)
})
