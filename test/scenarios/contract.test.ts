import { type OperationDefinition, operation } from 'callplane'
import { expect, test } from 'vitest'
import { Fault, type FaultKind } from '../../src/core/fault.ts'
import type { ToolExecutionResponse } from '../../src/protocols/contract/wire.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { type Site, startSite } from './server.ts'

async function execute(site: Site, tool: string, input: object = {}): Promise<ToolExecutionResponse> {
  const response = await site.request('/tool-contract/v1/execute', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ request_id: crypto.randomUUID(), tool: { name: tool }, input }),
  })
  return (await response.json()) as ToolExecutionResponse
}

const KINDS: readonly FaultKind[] = [
  'invalid-input',
  'unknown-operation',
  'policy-invalid',
  'isolation-unavailable',
  'forbidden',
  'secret-missing',
  'timeout',
  'canceled',
  'upstream',
  'credential-invalid',
  'credential-forbidden',
  'credential-expired',
  'approval-pending',
  'approval-denied',
  'approval-expired',
]

const tools: OperationDefinition[] = [
  operation('v1:tools.echo', { run: (args) => args }),
  operation('v1:tools.fail', {
    run: ({ kind }) => {
      throw new Fault(kind as FaultKind, 'It failed there.', { retryable: false, details: { why: 'asked to' } })
    },
  }),
]

/** Operations of one server that another one executes. */
function remote(backend: { kind: string; [setting: string]: unknown }): OperationDefinition[] {
  return ['echo', 'fail'].map((tool) =>
    operation(`v1:here.${tool}`, { backend: { ...backend, tool: `tools_${tool}`, allowPrivate: true } }),
  )
}

test('one server executes for another, and every canonical code is passed on unchanged', async () => {
  verifies('contract:132', 'contract:135')
  const there = await startSite({ operations: tools })
  const endpoint = `${there.url}/tool-contract/v1/execute`
  const here = await startSite({ operations: remote({ kind: 'external', endpoint }) })

  expect(await execute(here, 'here_echo', { a: 1 })).toMatchObject({ status: 'ok', output: { a: 1 } })
  for (const kind of KINDS) {
    const [direct, through] = [await execute(there, 'tools_fail', { kind }), await execute(here, 'here_fail', { kind })]
    expect({ status: through.status, error: through.error }).toEqual({ status: direct.status, error: direct.error })
  }
})

test('a server executes for another over gRPC', async () => {
  verifies('contract:137', 'contract:138')
  const lines: LogLine[] = []
  await startSite({ operations: tools, grpc: { port: 0 }, log: createMemoryLog(lines) })
  const { port } = lines.map(({ fields }) => fields as { port?: number }).find((fields) => fields.port) ?? {}
  const endpoint = `http://127.0.0.1:${port}`
  const here = await startSite({ operations: remote({ kind: 'grpc', endpoint, plaintext: true }) })

  expect(await execute(here, 'here_echo', { a: 1 })).toMatchObject({ status: 'ok', output: { a: 1 } })
  const failed = await execute(here, 'here_fail', { kind: 'secret-missing' })
  expect(failed.error).toMatchObject({ code: 'secret_resolution_failed', details: { why: 'asked to' } })
})

test('a server does a job for another, which asks until it has ended', async () => {
  verifies('contract:142', 'contract:143')
  const gate = Promise.withResolvers<object>()
  const slow = operation('v1:tools.echo', { model: 'async', run: () => gate.promise })
  const there = await startSite({ operations: [slow] })
  const endpoint = `${there.url}/tool-contract/v1/jobs`
  const [echo] = remote({ kind: 'webhook', endpoint, pollMs: 20 })
  const here = await startSite({ operations: [echo as OperationDefinition] })

  const answering = execute(here, 'here_echo')
  gate.resolve({ rows: 3 })

  expect(await answering).toMatchObject({ status: 'ok', output: { rows: 3 } })
})

test.each(['external', 'grpc', 'webhook'])(
  'an object comes through the %s backend as its tool gave it',
  async (kind) => {
    const lines: LogLine[] = []
    const contract = { details: 'strings' as const }
    const there = await startSite({ operations: tools, contract, grpc: { port: 0 }, log: createMemoryLog(lines) })
    const { port } = lines.map(({ fields }) => fields as { port?: number }).find((fields) => fields.port) ?? {}
    const endpoints = {
      external: { endpoint: `${there.url}/tool-contract/v1/execute` },
      grpc: { endpoint: `http://127.0.0.1:${port}`, plaintext: true },
      webhook: { endpoint: `${there.url}/tool-contract/v1/jobs` },
    }
    const here = await startSite({ operations: remote({ kind, ...endpoints[kind as keyof typeof endpoints] }) })
    const call = async (op: string, args: object) => {
      const first = await here.call(op, args)
      return first.status === 202 ? (await here.ended(first.body.requestId)).body : first.body
    }

    for (const given of [{}, { a: [1, { b: null }] }, { result: 'own', more: 1 }, { result: { deep: true } }]) {
      expect((await call('v1:here.echo', given)).result).toEqual(given)
    }
    expect((await call('v1:here.fail', { kind: 'conflict' })).error).toMatchObject({ message: 'It failed there.' })
  },
)
