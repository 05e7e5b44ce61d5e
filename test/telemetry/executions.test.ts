/** Every execution writes one log line with the Tool Contract's field names, for calls of every protocol. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Fault, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { Guard } from '../../src/core/ports/guard.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { openTool, requestIn, responseTo } from '../backends/tool-server.ts'
import { verifies } from '../requirements.ts'
import { startSite } from '../scenarios/server.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const KINDS: [how: string, rules: object][] = [
  ['on the spot', {}],
  ['recorded', { ttlSeconds: 60 }],
]

function executionsIn(lines: readonly LogLine[]): Record<string, unknown>[] {
  return lines.filter(({ message }) => message === 'executed').map(({ fields }) => fields as Record<string, unknown>)
}

test.each(KINDS)('%s: a call says who ran what, when, how often, and that it went well', async (_how, rules) => {
  verifies('contract:002', 'contract:146', 'contract:147', 'contract:148', 'contract:150', 'contract:151')
  verifies('contract:152', 'contract:153')
  const lines: LogLine[] = []
  let tries = 0
  const flaky = operation('v1:flaky', {
    ...rules,
    retry: { attempts: 2, backoffMs: 1 },
    run() {
      if (++tries === 1) throw new Fault('upstream', 'Not yet.')
      return { done: true }
    },
  })
  const site = await startSite({ operations: [flaky], log: createMemoryLog(lines) })

  await site.call('v1:flaky', {}, { requestId: 'r1' }, { headers: { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` } })

  const [line, ...more] = executionsIn(lines)
  expect(more).toEqual([])
  expect(line).toMatchObject({
    operation: 'v1:flaky@1.0.0',
    tool_contract_version: 'v1',
    tool_request_id: 'r1',
    started_at: expect.stringMatching(TIME),
    ended_at: expect.stringMatching(TIME),
    duration_ms: expect.any(Number),
    tool_attempt: 2,
    tool_status: 'ok',
    trace_id: TRACE_ID,
    span_id: SPAN_ID,
    owner: 'none|anonymous',
    verdict: 'allow',
    backend: 'handler',
  })
  expect(line?.duration_ms).toBe(Date.parse(line?.ended_at as string) - Date.parse(line?.started_at as string))
  expect(Object.keys(line ?? {})).not.toContain('tool_code')
})

test.each(KINDS)(
  '%s: a failure has its code and reason, the same each time, and all of it on one line',
  async (_how, rules) => {
    verifies('contract:064', 'contract:065', 'contract:066', 'contract:067', 'contract:149')
    const lines: LogLine[] = []
    const find = operation('v1:find', {
      ...rules,
      run: (_args, ctx) => ctx.fail('NO_SUCH_ARTICLE', 'There is no such article.', { details: { b: 'x y', a: 1 } }),
    })
    const site = await startSite({ operations: [find], log: createMemoryLog(lines) })

    await site.call('v1:find')
    await site.call('v1:find')

    const failed = {
      tool_status: 'error',
      tool_code: 'execution_failed',
      tool_reason: 'tool_backend_failure',
      retryable: false,
      failure:
        'tool_status=error tool_code=execution_failed tool_reason=tool_backend_failure retryable=false message="There is no such article." a=1 b="x y" tool_error=NO_SUCH_ARTICLE',
    }
    expect(executionsIn(lines)).toMatchObject([failed, failed])
  },
)

test('a call that a rule denies does not run, and is reported as denied', async () => {
  verifies('contract:148', 'contract:149')
  const lines: LogLine[] = []
  let runs = 0
  const erase = operation('v1:erase', { run: () => ++runs })
  const guard: Guard = { decide: () => ({ verdict: 'deny', rule: 'policy.yaml#no-deletes' }) }
  const site = await startSite({ operations: [erase], guards: [guard], log: createMemoryLog(lines) })

  await site.call('v1:erase')

  expect(executionsIn(lines)).toMatchObject([
    {
      tool_status: 'denied',
      tool_code: 'permission_denied',
      tool_reason: 'tool_permission_denied',
      retryable: false,
      tool_attempt: 0,
      verdict: 'deny',
      rule: 'policy.yaml#no-deletes',
    },
  ])
  expect(runs).toBe(0)
})

test('a call without a trace is the root of its own', async () => {
  verifies('contract:152', 'contract:153')
  const lines: LogLine[] = []
  const site = await startSite({ operations: [operation('v1:ping', { run: () => 1 })], log: createMemoryLog(lines) })

  await site.call('v1:ping')
  await site.call('v1:ping')

  const traces = executionsIn(lines).map(({ trace_id, span_id }) => `${trace_id}-${span_id}`)
  expect(new Set(traces).size).toBe(2)
  for (const trace of traces) expect(trace).toMatch(/^[0-9a-f]{32}-[0-9a-f]{16}$/)
})

test('the credential of a tool is logged by its name, and never by its value', async () => {
  verifies('contract:111', 'contract:112')
  const lines: LogLine[] = []
  const tool = createHttpServer((_request, response) => void response.end('{"status":"fine"}'))
  await new Promise<void>((resolve) => tool.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void tool.close())
  process.env.CALLPLANE_SECRET_SHOP_KEY = 'open sesame 4711'
  onTestFinished(() => void delete process.env.CALLPLANE_SECRET_SHOP_KEY)
  const endpoint = `http://127.0.0.1:${(tool.address() as AddressInfo).port}/`
  const shop = operation('v1:shop', {
    backend: { kind: 'http', endpoint, allowPrivate: true },
    auth: { profile: 'bearer', secretRef: 'shop-key' },
  })
  const site = await startSite({ operations: [shop], log: createMemoryLog(lines) })

  await site.call('v1:shop')

  const fields = { tool_status: 'ok', tool_auth_profile: 'bearer', tool_auth_secret_ref: 'shop-key', backend: 'http' }
  expect(executionsIn(lines)).toMatchObject([fields])
  expect(JSON.stringify(lines)).not.toContain('open sesame')
})

test('the id that was sent to the tool is logged with the id from the caller', async () => {
  verifies('contract:155')
  const lines: LogLine[] = []
  const tool = await openTool((asked, response) => response.end(responseTo(requestIn(asked))))
  const backend = { kind: 'external', endpoint: tool.url, allowPrivate: true }
  const site = await startSite({ operations: [operation('v1:shop', { backend })], log: createMemoryLog(lines) })

  await site.call('v1:shop', {}, { requestId: 'r1' })

  const [asked] = tool.asked.map(requestIn)
  expect(executionsIn(lines)).toMatchObject([{ tool_request_id: 'r1', execution_id: asked?.request_id }])
  expect(asked?.request_id).not.toBe('r1')
})

test('left out, it is still there for what is recorded or governed', async () => {
  const lines: LogLine[] = []
  const ping = operation('v1:ping', { run: () => 1 })
  const kept = operation('v1:kept', { ttlSeconds: 60, run: () => 1 })
  const ruled = operation('v1:ruled', { run: () => 1 })
  const guard: Guard = {
    decide: (_caller, { name }) =>
      name.full === 'v1:ruled' ? { verdict: 'allow', rule: 'policy.yaml#ok' } : undefined,
  }
  const options = { operations: [ping, kept, ruled], guards: [guard], log: createMemoryLog(lines) }
  const site = await startSite({ ...options, executionLog: false })

  for (const name of ['v1:ping', 'v1:kept', 'v1:ruled']) await site.call(name)

  expect(executionsIn(lines).map((line) => line.operation)).toEqual(['v1:kept@1.0.0', 'v1:ruled@1.0.0'])
})

test('the line is written from level info on', async () => {
  const written: string[] = []
  const logTo = { write: (line: string) => written.push(line) }
  const ping = operation('v1:ping', { run: () => 1 })
  const [quiet, telling] = [
    await startSite({ operations: [ping], log: 'warn', logTo }),
    await startSite({ operations: [ping], log: 'info', logTo }),
  ]

  await quiet.call('v1:ping')
  const before = [...written]
  await telling.call('v1:ping')

  expect(before).toEqual([])
  expect(written.filter((line) => line.includes('"msg":"executed"'))).toHaveLength(1)
})
