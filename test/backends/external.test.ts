import { expect, test } from 'vitest'
import { createExternalBackend } from '../../src/backends/external/index.ts'
import { CODES } from '../../src/protocols/contract/faults.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { backendContext, type ContextOptions, KEY } from './context.ts'
import { openTool, partsWith, type Respond, requestIn, responseTo } from './tool-server.ts'

async function open(respond: Respond, settings: object = {}) {
  const tool = await openTool(respond)
  const spec = { kind: 'external', endpoint: tool.url, allowPrivate: true, ...settings }
  const backend = createExternalBackend(spec, partsWith(createManualClock()))
  return {
    tool,
    run: async (args: unknown, options?: ContextOptions) => backend.execute(args, backendContext(options)),
  }
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `contract:${String(from + at).padStart(3, '0')}`)

test('the whole request goes out, with the names and the nesting of the text', async () => {
  verifies('contract:001', ...range(6, 27), 'contract:132', 'contract:133', 'contract:134')
  const { tool, run } = await open((asked, response) => response.end(responseTo(requestIn(asked))))

  const result = await run(
    { query: 'latest market analysis', limit: 3 },
    {
      sessionId: 'default/weekly-report',
      caller: { tenant: 'default', issuer: 'i', subject: 'research-agent', scopes: [] },
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      auth: { profile: 'api_key_header', secretRef: 'search-api-key', headerName: 'X-Key', scopes: ['search.read'] },
      rules: {
        capabilities: ['network.read', 'data.read'],
        risk: 'medium',
        timeoutMs: 15_000,
        retry: { attempts: 3, maxBackoffMs: 20_000, jitter: 'full' },
      },
    },
  )

  expect(result).toEqual({ query: 'latest market analysis', limit: 3 })
  expect(tool.asked[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-tool-contract-version': 'v1',
  })
  expect(JSON.parse(tool.asked[0]?.body ?? '')).toEqual({
    tool_contract_version: 'v1',
    request_id: KEY,
    task_id: 'default/weekly-report',
    namespace: 'default',
    agent: 'research-agent',
    tool: {
      name: 'orders_getItem',
      operation: 'invoke',
      capabilities: ['network.read', 'data.read'],
      risk_level: 'medium',
    },
    input: { query: 'latest market analysis', limit: 3 },
    input_raw: '',
    runtime: {
      mode: 'external',
      timeout_ms: 15_000,
      max_attempts: 3,
      backoff: 'exponential',
      max_backoff_ms: 20_000,
      jitter: true,
      attempt: 1,
    },
    auth: { profile: 'api_key_header', secret_ref: 'search-api-key', scopes: ['search.read'] },
    trace: { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' },
  })
})

test('unknown fields are sent empty, text is sent as raw input, and the tool has its own name', async () => {
  const { tool, run } = await open((asked, response) => response.end(responseTo(requestIn(asked))), {
    tool: 'web_search',
  })

  await run('plain words')

  expect(JSON.parse(tool.asked[0]?.body ?? '')).toMatchObject({
    task_id: '',
    tool: { name: 'web_search', capabilities: [], risk_level: 'low' },
    input: {},
    input_raw: 'plain words',
    runtime: { max_attempts: 1, jitter: false },
    auth: { profile: '', secret_ref: '', scopes: [] },
    trace: { trace_id: '', span_id: '' },
  })
})

const failing =
  (more: object): Respond =>
  (asked, response) =>
    response.end(JSON.stringify({ ...JSON.parse(responseTo(requestIn(asked))), ...more }))

test.each(Object.entries(CODES))('a tool that fails with %s is understood', async (code, { reason, status, kind }) => {
  const error = { code, reason, retryable: code === 'timeout', message: `It is ${code}.`, details: { n: 1 } }
  const { run } = await open(failing({ status, error }))

  await expect(run({})).rejects.toMatchObject({
    kind,
    retryable: code === 'timeout',
    message: `It is ${code}.`,
    details: { n: 1 },
  })
})

test('a code outside the Contract keeps its name, and missing fields get defaults', async () => {
  const { run } = await open(failing({ status: 'error', error: { code: 'quota', message: 7, details: 'no' } }))

  await expect(run({})).rejects.toMatchObject({
    kind: 'upstream',
    retryable: false,
    details: { upstream_code: 'quota' },
  })
})

test('a denial without an error object is a denial', async () => {
  const { run } = await open(failing({ status: 'denied' }))

  await expect(run({})).rejects.toMatchObject({ kind: 'forbidden', retryable: false })
})

const BAD = { kind: 'upstream', code: 'BAD_ANSWER' }

test.each([
  ['not JSON', 'Welcome to nginx!', true],
  ['nothing', '', true],
  ['JSON that breaks off', '{"status":"ok","output":{', true],
  ['JSON that is not an envelope', '{"sky":"blue"}', false],
  ['JSON with an unknown status', `{"request_id":"${KEY}","status":"running"}`, false],
  ['a list', '[]', false],
  ['another request', '{"request_id":"r2","status":"ok","output":{}}', false],
  ['no request id', '{"status":"ok","output":{}}', false],
  ['another version', `{"tool_contract_version":"v2","request_id":"${KEY}","status":"ok"}`, false],
  ['one key twice', `{"request_id":"${KEY}","status":"ok","status":"error"}`, false],
  [
    'nesting without end',
    `{"request_id":"${KEY}","status":"ok","output":{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`,
    false,
  ],
])('an answer with %s is refused', async (_, body, retryable) => {
  verifies('contract:031', 'contract:038', 'contract:135', 'contract:136')
  const { run } = await open((_asked, response) => response.end(body))

  await expect(run({})).rejects.toMatchObject({ ...BAD, retryable })
})

test('unknown fields and a later minor version are accepted', async () => {
  const { run } = await open((asked, response) =>
    response.end(responseTo(requestIn(asked), { tool_contract_version: 'v1.3', novelty: [1], output: { a: 1 } })),
  )

  expect(await run({})).toEqual({ a: 1 })
})

test.each([
  [503, { kind: 'upstream', retryable: true }],
  [400, { kind: 'upstream', retryable: false }],
  [403, { kind: 'credential-forbidden' }],
  [401, { kind: 'credential-invalid' }],
])('the status %i counts before the body', async (status, fault) => {
  verifies('contract:097', 'contract:098')
  const { run } = await open((asked, response) => response.writeHead(status).end(responseTo(requestIn(asked))))

  await expect(run({})).rejects.toMatchObject(fault)
})
