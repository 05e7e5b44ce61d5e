import type { Refuse, Route } from '../../core/ports/exchange.ts'
import { createCallbackDesk } from '../../engine/wait/callbacks.ts'
import { type ContractSettings, createContractMethods, createContractRoutes } from '../../protocols/contract/index.ts'
import {
  createEnvelopeCalls,
  createOpenCallRoutes,
  encodeRegistry,
  locateResult,
} from '../../protocols/opencall/index.ts'
import { createOxpRoutes } from '../../protocols/oxp/index.ts'
import { createOperationTools } from '../../protocols/rest/index.ts'
import { METRICS_CONTENT_TYPE } from '../../telemetry/index.ts'
import { isolationOf } from '../build/backends.ts'
import type { Node } from '../build/node.ts'
import type { Prepared } from '../build/prepare.ts'
import { requireProtection } from '../options/loopback.ts'
import {
  type ContractOptions,
  DEFAULT_TOOLKIT,
  type GrpcServerOptions,
  type ServerOptions,
  type Sizes,
} from '../options/options.ts'
import { createApprovalRoutes } from './approval-routes.ts'
import { createAuthorizationRoutes } from './authorization-routes.ts'
import { createCallbackRoutes } from './callback-routes.ts'
import { createMcpSurface, type McpSurface } from './mcp.ts'
import { createSystemRoutes } from './system-routes.ts'
import { createToolSurface } from './tool-handler.ts'

const MAX_WAIT_MS = 60_000
/** How long a protocol without polling waits for a call to end. */
const HOLD_MS = 30_000
/** Where the page of the tools is, and their API once more. */
export const EXPLORER = '/explorer'
/** How long a Contract job may take to be answered at once. */
const JOB_WAIT_MS = 1_000

function contractSettings(sizes: Sizes, { details = 'json' }: ContractOptions = {}): ContractSettings {
  return { maxBodyBytes: sizes.envelopeBytes, holdMs: HOLD_MS, jobWaitMs: JOB_WAIT_MS, details, isolationOf }
}

/** Every protocol's routes. */
export function createRoutes<App>(
  options: ServerOptions<App>,
  { tools, authenticator, log, sizes }: Prepared,
  node: Node,
  refuse: Refuse,
): Route[] {
  const { engine, calls, objects, env, maintenance, renderMetrics, store, secrets, shown, authorizations, identify } =
    node
  const shared = { calls, catalog: engine.registry, objects, env, identify, tools, locate: locateResult }
  const surface = createToolSurface(
    createOperationTools({ ...shared, holdMs: HOLD_MS }),
    options.rest ?? {},
    sizes.envelopeBytes,
    log,
  )
  return [
    ...createOpenCallRoutes({
      ...shared,
      settings: {
        strict: options.opencall?.strict ?? false,
        maxEnvelopeBytes: sizes.envelopeBytes,
        maxUploadBytes: sizes.uploadBytes,
        maxWaitMs: MAX_WAIT_MS,
        signLinks: authenticator !== undefined,
        listRemoved: options.opencall?.listRemoved ?? false,
        eventStreamsPerCaller: options.opencall?.eventStreamsPerCaller ?? 100,
      },
    }),
    ...createOxpRoutes({
      ...shared,
      settings: {
        maxBodyBytes: sizes.envelopeBytes,
        holdMs: HOLD_MS,
        unauthorizedStatus: options.oxp?.unauthorizedStatus ?? 400,
      },
    }),
    ...surface.tools(''),
    ...surface.tools(EXPLORER),
    ...surface.explorer(EXPLORER),
    ...createSystemRoutes({
      draining: () => engine.draining,
      storing: () => maintenance.storageFault === undefined,
      renderMetrics,
      metricsType: METRICS_CONTENT_TYPE,
      identify,
      refuse,
    }),
    ...createContractRoutes({
      ...shared,
      records: store.records,
      settings: contractSettings(sizes, options.contract),
    }),
    ...createCallbackRoutes({
      ...createCallbackDesk({ env, store, registry: engine.registry, worker: engine.worker, secrets, shown }),
      clock: env.clock,
      refuse,
    }),
    ...createApprovalRoutes(engine.approvals, env, refuse),
    ...(authorizations ? createAuthorizationRoutes(authorizations, refuse) : []),
  ]
}

export function openMcp<App>(
  options: ServerOptions<App>,
  { tools, isBare, authenticator, sizes }: Prepared,
  node: Node,
): McpSurface {
  const { engine, calls, objects, env, store, identify, overran } = node
  const parts = {
    calls,
    catalog: engine.registry,
    objects,
    env,
    identify,
    tools,
    records: store.records,
    overran,
    describe: (now: number) =>
      encodeRegistry(engine.registry, now, { listRemoved: options.opencall?.listRemoved ?? false }),
    envelopes: createEnvelopeCalls({
      calls,
      catalog: engine.registry,
      env,
      strict: options.opencall?.strict ?? false,
    }),
    toolkit: options.toolkit ?? DEFAULT_TOOLKIT,
    isBare,
    origin: options.publicUrl ?? 'http://127.0.0.1:4747',
    maxBodyBytes: sizes.envelopeBytes,
    holdMs: HOLD_MS,
    authenticated: authenticator !== undefined,
    issuers: [...new Set((options.auth?.jwt ?? []).flatMap(({ issuer }) => issuer ?? []))],
  }
  return createMcpSurface(parts, options.mcp ?? {})
}

/** Loaded when it is used. */
export async function openGrpc(
  { host = '127.0.0.1', port, tls }: GrpcServerOptions,
  contract: ContractOptions | undefined,
  { authenticator, tools, log, sizes }: Prepared,
  { engine, calls, env, store, identify }: Node,
  /** Where whoever asked can fetch what an answer points at: that is served over HTTP only. */
  origin: () => string,
) {
  requireProtection(host, authenticator)
  const { createGrpcCarrier } = await import('../../carriers/grpc/index.ts')
  const methods = createContractMethods({
    calls,
    catalog: engine.registry,
    env,
    tools,
    records: store.records,
    identify,
    locate: locateResult,
    settings: contractSettings(sizes, contract),
    origin,
  })
  const carrier = createGrpcCarrier({ methods, maxBytes: sizes.envelopeBytes, log, ...(tls && { tls }) })
  const listening = await carrier.listen({ host, port })
  log.info({ ...listening }, 'the Tool Contract is served over gRPC')
  return { ...carrier, ...listening }
}
