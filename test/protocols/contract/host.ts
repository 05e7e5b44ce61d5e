/**
 * An engine that executes tools for other runtimes: the Contract's HTTP routes and its gRPC method on free loopback
 * ports.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createGrpcCarrier } from '../../../src/carriers/grpc/index.ts'
import { closeHttpServer, createHttpServer, createRequestListener, listen } from '../../../src/carriers/http/index.ts'
import type { Caller } from '../../../src/core/call/caller.ts'
import { Fault } from '../../../src/core/fault.ts'
import type { OperationDefinition } from '../../../src/core/operation/operation.ts'
import type { Backend } from '../../../src/core/ports/backend.ts'
import type { Answer } from '../../../src/core/ports/exchange.ts'
import type { Guard } from '../../../src/core/ports/guard.ts'
import type { Fetcher } from '../../../src/core/ports/outbound.ts'
import { createCalls } from '../../../src/engine/calls.ts'
import { Engine } from '../../../src/engine/engine.ts'
import { FollowUp } from '../../../src/engine/follow/follow-up.ts'
import { createWaiters } from '../../../src/engine/follow/waiters.ts'
import { DEFAULT_LIMITS } from '../../../src/engine/limits/limit-rules.ts'
import { Limits } from '../../../src/engine/limits/limits.ts'
import { createTools } from '../../../src/engine/tools.ts'
import { contractWords, createContractMethods, createContractRoutes } from '../../../src/protocols/contract/index.ts'
import type { ToolExecutionRequest, ToolExecutionResponse } from '../../../src/protocols/contract/wire.ts'
import { scopesGuard } from '../../../src/security/identity/scope-guard.ts'
import { createRedactor } from '../../../src/security/redaction/redaction.ts'
import { createSealer } from '../../../src/security/secrets/vault.ts'
import { isolationOf } from '../../../src/server/build/backends.ts'
import { createEnvironment, systemClock } from '../../../src/server/build/environment.ts'
import { buildRegistry } from '../../../src/server/build/operations.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { createExecutionLog } from '../../../src/telemetry/index.ts'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { createMemoryObjects } from '../../../src/testing/fakes/memory-objects.ts'

export interface HostOptions {
  operations: readonly OperationDefinition[]
  /** Replaces parts of the handler's backend. */
  backend?: Partial<Backend>
  guards?: readonly Guard[]
  /** Scopes by token. Default: every caller may do everything. */
  tokens?: Readonly<Record<string, readonly string[]>>
  holdMs?: number
  jobWaitMs?: number
  maxBytes?: number
  details?: 'json' | 'strings'
  tls?: { key: string; cert: string }
}

/** The parts of a request that a test sets; the other parts keep their values. */
export type Partly<T> = { [K in keyof T]?: unknown } & Record<string, unknown>

export interface Answered {
  status: number
  headers: Headers
  body: ToolExecutionResponse
}

export interface Host {
  url: string
  grpcPort: number
  log: LogLine[]
  execute(request: Partly<ToolExecutionRequest> | string, init?: RequestInit): Promise<Answered>
  submit(request: Partly<ToolExecutionRequest>, init?: RequestInit): Promise<Answered>
  job(requestId: string, init?: RequestInit): Promise<Answered>
}

export async function openHost(options: HostOptions): Promise<Host> {
  const { holdMs = 10_000, jobWaitMs = 50, maxBytes = 100_000, tokens, tls } = options
  const log: LogLine[] = []
  const folder = mkdtempSync(join(tmpdir(), 'callplane-contract-'))
  const env = createEnvironment(createMemoryLog(log), { current: new Uint8Array(32) }, systemClock, createRedactor())
  const registry = buildRegistry(options.operations, ({ run }) => ({
    kind: 'handler',
    execute: (args, context) => run?.(args, context),
    ...options.backend,
  }))
  const store = createSqliteStore({ file: join(folder, 'calls.db'), clock: systemClock })
  const shared = {
    env,
    registry,
    store,
    objects: createMemoryObjects(() => systemClock.now()),
    limits: new Limits(DEFAULT_LIMITS, systemClock),
  }
  const engine = new Engine({
    ...shared,
    fetcher: {} as Fetcher,
    guards: [scopesGuard, ...(options.guards ?? [])],
    cache: { get: () => undefined, set: () => {} },
    sealer: createSealer({ current: new Uint8Array(32) }),
    work: { leaseMs: 30_000, claimEveryMs: 5_000, maxCutOffs: 10, progressEveryMs: 100 },
    chunkBytes: 1_024,
    maxObjectBytes: 1_000_000,
    stopGraceMs: 100,
    observer: createExecutionLog({ log: env.log, words: contractWords }),
  })
  const parts = {
    calls: createCalls({
      engine,
      followUp: new FollowUp({ ...shared, worker: engine.worker, cancelWaitMs: 2_000 }),
      env,
      waiters: createWaiters(),
    }),
    catalog: registry,
    tools: createTools(registry, 'callplane', () => true),
    env,
    records: store.records,
    identify: (source: { header(name: string): string | undefined }) => () => callerOf(source, tokens),
    locate: (_reply: unknown, origin: string) => ({ uri: `${origin}/objects/1`, mimeType: 'text/plain' }),
    settings: { maxBodyBytes: maxBytes, holdMs, jobWaitMs, details: options.details ?? 'json', isolationOf },
  }
  const none = (): Answer => ({ status: 404, headers: {} })
  const server = createHttpServer(createRequestListener(createContractRoutes(parts), { fallback: none }))
  const { url } = await listen(server, { host: '127.0.0.1', port: 0 })
  const methods = createContractMethods({ ...parts, origin: () => url })
  const grpc = createGrpcCarrier({ methods, maxBytes, log: env.log, ...(tls && { tls }) })
  const { port: grpcPort } = await grpc.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    engine.drain()
    await Promise.all([grpc.close(0), closeHttpServer(server, 0), engine.worker.stop(0)])
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    answered(`${url}/tool-contract/v1${path}`, {
      method: 'POST',
      ...init,
      headers: { 'content-type': 'application/json', ...init.headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    url,
    grpcPort,
    log,
    execute: (request, init) => post('/execute', request, init),
    submit: (request, init) => post('/jobs', request, init),
    job: (id, init = {}) => answered(`${url}/tool-contract/v1/jobs/${encodeURIComponent(id)}`, init),
  }
}

const EVERYBODY: Caller = { tenant: 'main', issuer: 'test', subject: 'ada', scopes: ['*'] }

function callerOf(
  { header }: { header(name: string): string | undefined },
  tokens: HostOptions['tokens'],
): Caller | undefined {
  if (!tokens) return EVERYBODY
  const authorization = header('authorization')
  if (authorization === undefined) return undefined
  const scopes = tokens[authorization.replace('Bearer ', '')]
  if (!scopes) throw new Fault('unauthenticated', 'This token is not known. Send another.')
  return { ...EVERYBODY, subject: authorization, scopes }
}

async function answered(url: string, init: RequestInit): Promise<Answered> {
  const response = await fetch(url, init)
  return { status: response.status, headers: response.headers, body: (await response.json()) as ToolExecutionResponse }
}

/** A request as in the document's example, for this tool. */
export function request(id: string, tool: string, more: Partly<ToolExecutionRequest> = {}) {
  return {
    tool_contract_version: 'v1',
    request_id: id,
    tool: { name: tool, operation: 'invoke' },
    trace: { trace_id: 'trace-abc', span_id: 'span-xyz' },
    ...more,
  }
}
