import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { Fault, type FaultKind } from '../../../src/core/fault.ts'
import type { LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { verifies } from '../../requirements.ts'
import { openHost, request } from './host.ts'

const seen: unknown[] = []

const search = operation('v1:web.search', {
  args: { type: ['object', 'string'] },
  run: (args: unknown) => {
    seen.push(args)
    return { summary: `for ${JSON.stringify(args)}` }
  },
})

/** The request of the document, word for word but for what this server does not run in a container. */
const EXAMPLE = {
  tool_contract_version: 'v1',
  request_id: 'req-123',
  task_id: 'default/weekly-report',
  namespace: 'default',
  agent: 'research-agent',
  tool: { name: 'web_search', operation: 'invoke', capabilities: ['network.read', 'data.read'], risk_level: 'medium' },
  input: { query: 'latest market analysis' },
  input_raw: '',
  runtime: {
    mode: 'container',
    timeout_ms: 15_000,
    max_attempts: 3,
    backoff: 'exponential',
    max_backoff_ms: 30_000,
    jitter: true,
  },
  auth: { profile: 'api_key_header', secret_ref: 'search-api-key', scopes: ['search.read'] },
  trace: { trace_id: 'trace-abc', span_id: 'span-xyz' },
}

test('the example of the document is executed where its tool is as the example has it', async () => {
  verifies(...ids(1, 1), ...ids(6, 27), ...ids(31, 38), 'contract:160')
  const sandboxed = operation('v1:web.search', {
    backend: { kind: 'container' },
    auth: { profile: 'api_key_header', secretRef: 'search-api-key', headerName: 'X-Api-Key' },
  })
  const run = { kind: 'container', isolated: true, usesAuth: true, execute: (args: unknown) => ({ summary: args }) }
  const { execute } = await openHost({ operations: [sandboxed], backend: run })

  const { status, headers, body } = await execute({ ...EXAMPLE, tomorrow: { more: true } })

  expect(status).toBe(200)
  expect(headers.get('x-tool-contract-version')).toBe('v1')
  expect(body).toEqual({
    tool_contract_version: 'v1',
    request_id: 'req-123',
    status: 'ok',
    output: {
      summary: { query: 'latest market analysis' },
      result: '{"summary":{"query":"latest market analysis"}}',
    },
    usage: { duration_ms: expect.any(Number), attempt: 1 },
    trace: { trace_id: 'trace-abc', span_id: 'span-xyz' },
  })
})

test.each([
  ['none', undefined],
  ['an empty one', ''],
  ['a later minor', 'v1.2'],
])('a request with %s as its version is v1', async (_name, version) => {
  verifies('contract:028')
  const { execute } = await openHost({ operations: [search] })

  const { body } = await execute({ ...request('r1', 'web_search'), tool_contract_version: version })

  expect(body.status).toBe('ok')
})

test.each(['v2', 'v10', 'one', 7])('version %j is refused, every time in the same words', async (version) => {
  verifies('contract:003', 'contract:004', 'contract:005', 'contract:161', 'contract:162')
  seen.length = 0
  const { execute } = await openHost({ operations: [search] })
  const asked = { ...request('r1', 'web_search'), tool_contract_version: version }

  const [first, second] = [await execute(asked), await execute(asked)]

  expect(first.status).toBe(200)
  expect(first.body.error).toEqual({
    code: 'invalid_input',
    reason: 'tool_invalid_input',
    retryable: false,
    message: expect.stringContaining('v1'),
    details: { field: 'tool_contract_version', expected: 'v1' },
  })
  expect(second.body.error).toEqual(first.body.error)
  expect(seen).toEqual([])
})

test.each([
  ['tool_contract_version', { tool_contract_version: 'v2', request_id: '', tool: {} }],
  ['request_id', { request_id: ' ', tool: {} }],
  ['request_id', { tool: { name: 'web_search' } }],
  ['tool.name', { request_id: 'r1', tool: { name: '' } }],
  ['tool.name', { request_id: 'r1' }],
  ['tool.risk_level', { request_id: 'r1', tool: { name: 'web_search', risk_level: 'extreme' } }],
  ['input', { request_id: 'r1', tool: { name: 'web_search' }, input: [] }],
  ['runtime.timeout_ms', { request_id: 'r1', tool: { name: 'web_search' }, runtime: { timeout_ms: -1 } }],
])('a request whose %s is not right is refused for that and not run', async (field, asked) => {
  verifies('contract:029', 'contract:030', 'contract:045', 'contract:054')
  seen.length = 0
  const { execute } = await openHost({ operations: [search] })

  const { status, body } = await execute(asked)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'error',
    error: { code: 'invalid_input', retryable: false, details: { field } },
  })
  expect(seen).toEqual([])
})

test.each([
  ['an object', { input: { a: 1 } }, { a: 1 }],
  ['nothing', {}, {}],
  ['raw JSON, which wins', { input: { a: 1 }, input_raw: ' {"b":2} ' }, { b: 2 }],
  ['raw text', { input: { a: 1 }, input_raw: ' look it up ' }, 'look it up'],
  ['blank raw text, which is none', { input: { a: 1 }, input_raw: '  ' }, { a: 1 }],
])('the tool is given %s', async (_name, input, expected) => {
  seen.length = 0
  const { execute } = await openHost({ operations: [search] })

  await execute(request('r1', 'web_search', input))

  expect(seen).toEqual([expected])
})

/** Each of the fifteen codes, with its reason and status, from the fault that has it. */
const FAILURES: readonly [kind: FaultKind, code: string, reason: string, status: string, number: number][] = [
  ['invalid-input', 'invalid_input', 'tool_invalid_input', 'error', 45],
  ['unknown-operation', 'unsupported_tool', 'tool_unsupported', 'error', 46],
  ['policy-invalid', 'runtime_policy_invalid', 'tool_runtime_policy_invalid', 'error', 47],
  ['isolation-unavailable', 'isolation_unavailable', 'tool_isolation_unavailable', 'error', 48],
  ['forbidden', 'permission_denied', 'tool_permission_denied', 'denied', 49],
  ['secret-missing', 'secret_resolution_failed', 'tool_secret_resolution_failed', 'error', 50],
  ['timeout', 'timeout', 'tool_execution_timeout', 'error', 51],
  ['canceled', 'canceled', 'tool_execution_canceled', 'error', 52],
  ['upstream', 'execution_failed', 'tool_backend_failure', 'error', 53],
  ['credential-invalid', 'auth_invalid', 'tool_auth_invalid', 'error', 0],
  ['credential-forbidden', 'auth_forbidden', 'tool_auth_forbidden', 'error', 0],
  ['credential-expired', 'auth_expired', 'tool_auth_expired', 'error', 0],
  ['approval-pending', 'approval_pending', 'tool_approval_pending', 'error', 102],
  ['approval-denied', 'approval_denied', 'tool_approval_denied', 'denied', 103],
  ['approval-expired', 'approval_timeout', 'tool_approval_timeout', 'denied', 104],
]

test.each(FAILURES)('a failure of kind %s is %s', async (kind, code, reason, status, number) => {
  verifies(...ids(39, 44), ...ids(64, 67), 'contract:002')
  if (number > 0) verifies(...ids(number, number), ...(number < 100 ? ids(number + 9, number + 9) : []))
  const failing = operation('v1:web.search', {
    run: () => {
      throw new Fault(kind, 'It failed.', { retryable: false, details: { z: 1, a: 'x y' } })
    },
  })
  const { execute, log } = await openHost({ operations: [failing] })

  const answer = await execute(request('r1', 'web_search'))

  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ request_id: 'r1', status, trace: { trace_id: 'trace-abc', span_id: 'span-xyz' } })
  const error = { code, reason, retryable: false, message: 'It failed.', details: { z: 1, a: 'x y' } }
  expect(answer.body.error).toEqual(error)
  const line = `tool_status=${status} tool_code=${code} tool_reason=${reason} retryable=false message="It failed." a="x y" z=1`
  const fields = { tool_contract_version: 'v1', tool_status: status, tool_code: code, tool_reason: reason }
  expect(failuresIn(log)).toMatchObject([
    { message: 'executed', fields: { ...fields, retryable: false, tool_attempt: 1, failure: line } },
  ])
})

function failuresIn(log: readonly LogLine[]): LogLine[] {
  return log.filter(({ fields }) => Object.hasOwn(fields, 'tool_code'))
}

test('a failure before an execution has its own log line, and a denial has one line, too', async () => {
  verifies(...ids(64, 67))
  const guard = { decide: () => ({ verdict: 'deny' as const, rule: 'policy.yaml#no-search' }) }
  const { execute, log } = await openHost({ operations: [search], guards: [guard] })

  await execute(request('r1', 'web_none'))
  await execute(request('r2', 'web_search'))

  const unknown = { tool_code: 'unsupported_tool', tool_request_id: 'r1', tool_attempt: 1 }
  const denied = { tool_code: 'permission_denied', tool_request_id: 'r2', tool_attempt: 0 }
  expect(failuresIn(log)).toMatchObject([
    { message: expect.stringContaining('tool_code=unsupported_tool'), fields: unknown },
    { message: 'executed', fields: denied },
  ])
})

test('a tool that takes longer than the request allows is a timeout as the example has it', async () => {
  verifies('contract:063')
  const hang = operation('v1:web.search', { timeoutMs: 60_000, run: () => new Promise(() => {}) })
  const { execute } = await openHost({ operations: [hang] })

  const { body } = await execute(request('r1', 'web_search', { runtime: { timeout_ms: 50 } }))

  expect(body.status).toBe('error')
  expect(body.error).toMatchObject({ code: 'timeout', reason: 'tool_execution_timeout', retryable: true })
  expect(body.error?.details).toMatchObject({ timeout_ms: 50 })
})

test.each([
  ['fewer attempts than the tool has', { max_attempts: 2 }, 2],
  ['more attempts than the tool has', { max_attempts: 9 }, 3],
])('a request may have %s, and no more', async (_name, runtime, attempt) => {
  verifies('contract:035')
  const failing = operation('v1:web.search', {
    retry: { attempts: 3, backoffMs: 1 },
    run: () => {
      throw new Fault('upstream', 'Not now.')
    },
  })
  const { execute } = await openHost({ operations: [failing] })

  const { body } = await execute(request('r1', 'web_search', { runtime }))

  expect(body.usage.attempt).toBe(attempt)
})

test.each([
  ['weaker isolation', { runtime: { mode: 'http' } }, true, 'runtime_policy_invalid'],
  ['an unknown mode', { runtime: { mode: 'elsewhere' } }, true, 'runtime_policy_invalid'],
  ['a sandbox that is not there', { runtime: { mode: 'wasm' } }, false, 'isolation_unavailable'],
  ['any sandbox, where there is none', { runtime: { mode: 'sandboxed' } }, false, 'isolation_unavailable'],
  ['another sandbox', { runtime: { mode: 'container' } }, true, undefined],
  ['no sandbox, where there is none', { runtime: { mode: 'none' } }, false, undefined],
  ['another way without a sandbox', { runtime: { mode: 'mcp' } }, false, undefined],
  ['a mode that only looks known', { runtime: { mode: 'toString' } }, false, 'runtime_policy_invalid'],
  ['another secret', { auth: { secret_ref: 'root-key' } }, true, 'runtime_policy_invalid'],
  ['another profile', { auth: { profile: 'basic' } }, true, 'runtime_policy_invalid'],
  ['its own way to us', { runtime: { mode: 'external' }, auth: { secret_ref: 'our-token' } }, true, undefined],
])(
  'a request that asks for %s gets what the tool is declared with, or nothing',
  async (_name, more, isolated, code) => {
    const declared = operation('v1:web.search', { backend: { kind: 'any' }, auth: { secretRef: 'search-key' } })
    const { execute } = await openHost({
      operations: [declared],
      backend: { isolated, usesAuth: true, execute: () => ({}) },
    })

    const { body } = await execute(request('r1', 'web_search', more))

    expect(body.error?.code).toBe(code)
  },
)

test('the same request again is the same execution, and another under its id is refused', async () => {
  let runs = 0
  const count = operation('v1:web.search', { run: () => ++runs })
  const { execute } = await openHost({ operations: [count] })
  const asked = request('ns/agent/s001', 'web_search')

  const [first, again] = [await execute(asked), await execute(asked)]
  const other = await execute({ ...asked, input: { other: true } })

  expect(first.body.output).toEqual({ result: '1' })
  expect(again.body.output).toEqual({ result: '1' })
  expect(other.body.error).toMatchObject({ code: 'invalid_input', retryable: false })
})

test('a call that takes longer than the wait continues, and the same request joins it', async () => {
  const gate = Promise.withResolvers<string>()
  let runs = 0
  const slow = operation('v1:web.search', {
    model: 'async',
    run: () => {
      runs++
      return gate.promise
    },
  })
  const { execute } = await openHost({ operations: [slow], holdMs: 100 })
  const asked = request('r1', 'web_search')

  const waiting = await execute(asked)
  gate.resolve('done')
  const ended = await execute(asked)

  expect(waiting.body.error).toMatchObject({
    code: 'execution_failed',
    retryable: true,
    details: { still_running: true },
  })
  expect(ended.body.output).toEqual({ result: 'done' })
  expect(runs).toBe(1)
})

test('a runtime that hangs up takes the work with it', async () => {
  verifies('contract:122')
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<string>()
  const hang = operation('v1:web.search', {
    run: (_args, { signal }) => {
      begun.resolve()
      signal.addEventListener('abort', () => stopped.resolve(signal.reason.kind))
      return new Promise(() => {})
    },
  })
  const { execute } = await openHost({ operations: [hang] })
  const leaving = new AbortController()

  const left = execute(request('r1', 'web_search'), { signal: leaving.signal }).catch((thrown) => thrown.name)
  await begun.promise
  leaving.abort()

  expect(await left).toBe('AbortError')
  expect(await stopped.promise).toBe('canceled')
})

test('a denial names the rule or permission, and a bad credential also sets the status', async () => {
  verifies('contract:068', 'contract:069', 'contract:070', 'contract:071')
  const guarded = operation('v1:web.search', { scopes: ['web:read'], run: () => 1 })
  const guard = { decide: () => ({ verdict: 'deny' as const, rule: 'policy.yaml#no-search' }) }
  const tokens = { reader: ['web:read'], nobody: [] }
  const { execute } = await openHost({ operations: [guarded], guards: [guard], tokens })
  const call = (token: string) =>
    execute(request('r1', 'web_search'), token === '' ? {} : { headers: { authorization: `Bearer ${token}` } })

  const [policy, scope, unknown, none] = [await call('reader'), await call('nobody'), await call('x'), await call('')]

  const denied = { code: 'permission_denied', reason: 'tool_permission_denied', retryable: false }
  expect(policy).toMatchObject({ status: 200, body: { status: 'denied', error: denied } })
  expect(policy.body.error?.details).toMatchObject({ policy_ref: 'policy.yaml', rule: 'policy.yaml#no-search' })
  expect(scope).toMatchObject({ status: 200, body: { status: 'denied', error: denied } })
  expect(scope.body.error?.details).toMatchObject({ permission_ref: 'web:read' })
  expect(unknown).toMatchObject({ status: 401, body: { request_id: 'r1', status: 'denied', error: denied } })
  expect(none).toMatchObject({ status: 401, body: { request_id: 'r1', status: 'denied', error: denied } })
})

test('a call that needs an approval does not run, and the response says that it waits', async () => {
  verifies('contract:102')
  seen.length = 0
  const guard = { decide: () => ({ verdict: 'hold' as const, rule: 'policy.yaml#ask' }) }
  const { execute } = await openHost({ operations: [search], guards: [guard] })

  const { status, body } = await execute(request('r1', 'web_search'))

  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'error', error: { code: 'approval_pending', retryable: false } })
  expect(body.error?.reason).toBe('tool_approval_pending')
  expect(seen).toEqual([])
})

test('an unreadable request is refused with its own status, in the same envelope', async () => {
  const { execute, url } = await openHost({ operations: [search], maxBytes: 500 })
  const text = { headers: { 'content-type': 'text/plain' } }

  const answers = [await execute('{'), await execute('x'.repeat(600)), await execute('{}', text)]

  expect(answers.map(({ status }) => status)).toEqual([400, 413, 415])
  for (const { body } of answers) expect(body).toMatchObject({ status: 'error', error: { code: 'invalid_input' } })
  expect((await fetch(`${url}/tool-contract/v1/execute`)).status).toBe(405)
})

function ids(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, at) => `contract:${String(first + at).padStart(3, '0')}`)
}
