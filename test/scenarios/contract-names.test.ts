/**
 * The names of the Tool Contract's fields, as we send and read them. A renamed field without a new version breaks
 * existing runtimes and tools. This table defines `v1`; a change belongs under `v2`.
 */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { CONTRACT_VERSION } from '../../src/protocols/contract/wire.ts'
import { openTool, requestIn, responseTo } from '../backends/tool-server.ts'
import { verifies } from '../requirements.ts'
import { type Site, startSite } from './server.ts'

const NAMES = {
  v1: {
    request: [
      'tool_contract_version',
      'request_id',
      'task_id',
      'namespace',
      'agent',
      'tool.name',
      'tool.operation',
      'tool.capabilities',
      'tool.risk_level',
      'input',
      'input_raw',
      'runtime.mode',
      'runtime.timeout_ms',
      'runtime.max_attempts',
      'runtime.backoff',
      'runtime.max_backoff_ms',
      'runtime.jitter',
      'runtime.attempt',
      'auth.profile',
      'auth.secret_ref',
      'auth.scopes',
      'trace.trace_id',
      'trace.span_id',
    ],
    /** Those that say something to us: of the wrong type they are refused. */
    read: [
      'tool_contract_version',
      'request_id',
      'task_id',
      'tool.name',
      'tool.operation',
      'tool.capabilities',
      'tool.risk_level',
      'input',
      'input_raw',
      'runtime.mode',
      'runtime.timeout_ms',
      'runtime.max_attempts',
      'runtime.max_backoff_ms',
      'runtime.deadline_ms',
      'runtime.attempt',
      'auth.profile',
      'auth.secret_ref',
      'auth.scopes',
    ],
    answer: [
      'tool_contract_version',
      'request_id',
      'status',
      'usage.duration_ms',
      'usage.attempt',
      'trace.trace_id',
      'trace.span_id',
    ],
    error: ['error.code', 'error.reason', 'error.retryable', 'error.message', 'error.details'],
  },
}

const { request, read, answer, error } = NAMES[CONTRACT_VERSION]

/** Fields whose members the tool names. */
const OPAQUE = ['input', 'output', 'error.details']

function namesIn(value: object, prefix = ''): string[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = prefix + key
    const isOpen = typeof inner === 'object' && !Array.isArray(inner) && !OPAQUE.includes(name)
    return isOpen ? namesIn(inner, `${name}.`) : name
  })
}

async function execute(site: Site, body: object) {
  const headers = { 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await site.request('/tool-contract/v1/execute', init)
  return (await response.json()) as Record<string, unknown>
}

const asked = (more: object = {}) => ({ request_id: 'r1', tool: { name: 'notes_echo' }, ...more })
const echo = operation('v1:notes.echo', { args: { type: 'object' }, run: (args) => args })

test('a tool is sent these names', async () => {
  verifies('contract:161', 'contract:162')
  const tool = await openTool((one, response) => response.end(responseTo(requestIn(one))))
  const backend = { kind: 'external', endpoint: tool.url, allowPrivate: true }
  const site = await startSite({ operations: [operation('v1:notes.echo', { backend })] })

  await execute(site, asked())

  expect(tool.asked.map((one) => namesIn(requestIn(one)).sort())).toEqual([[...request].sort()])
})

test('a request uses these names', async () => {
  verifies('contract:161', 'contract:162')
  const site = await startSite({ operations: [echo] })
  const whole: Record<string, unknown> = asked()

  const refused: unknown[] = []
  for (const name of read) {
    const [field = '', inner] = name.split('.')
    const wrong = name === 'input' ? 'a text' : { of: 'another type' }
    const value = inner === undefined ? wrong : { ...(whole[field] ?? {}), [inner]: wrong }
    const { error: why } = (await execute(site, { ...whole, [field]: value })) as { error?: { details: object } }
    refused.push(why?.details)
  }

  expect(refused).toMatchObject(read.map((field) => ({ field })))
})

test('a runtime is answered with these names', async () => {
  verifies('contract:161', 'contract:162')
  const site = await startSite({ operations: [echo] })

  const fine = await execute(site, asked())
  const refused = await execute(site, asked({ tool: { name: 'notes_none' } }))

  expect(namesIn(fine).sort()).toEqual([...answer, 'output'].sort())
  expect(namesIn(refused).sort()).toEqual([...answer, ...error].sort())
})

test('a tool is understood by these names', async () => {
  verifies('contract:161', 'contract:162')
  const said = { code: 'timeout', reason: 'r', retryable: false, message: 'Too slow.', details: { after: 'lunch' } }
  const answers: Record<string, object> = {
    fine: { output: { found: 3 }, status: 'ok' },
    failed: { error: said, status: 'error' },
    newer: { output: {}, status: 'ok', tool_contract_version: 'v2' },
    foreign: { output: {}, status: 'ok', request_id: 'r2' },
  }
  const tool = await openTool((one, response) => {
    const { request_id, input } = requestIn(one)
    response.end(JSON.stringify({ tool_contract_version: 'v1', request_id, ...answers[String(input.kind)] }))
  })
  const backend = { kind: 'external', endpoint: tool.url, allowPrivate: true }
  const site = await startSite({ operations: [operation('v1:notes.echo', { backend })] })
  const tell = (kind: string) => execute(site, asked({ request_id: kind, input: { kind } }))

  expect(await tell('fine')).toMatchObject({ status: 'ok', output: { found: 3 } })
  expect(await tell('failed')).toMatchObject({ error: { ...said, reason: 'tool_execution_timeout' } })
  expect(await tell('newer')).toMatchObject({ error: { message: expect.stringContaining('another version') } })
  expect(await tell('foreign')).toMatchObject({ error: { message: expect.stringContaining('another request') } })
})
