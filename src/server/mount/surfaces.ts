/** Mounts the protocols of a server with their settings. */
import type { Caller } from '../../core/call/caller.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { Tools } from '../../core/ports/catalog.ts'
import type { Refuse, Route } from '../../core/ports/exchange.ts'
import type { Identify, Presented } from '../../core/ports/guard.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import type { Records, Store } from '../../core/ports/store.ts'
import type { Registry } from '../../engine/registry.ts'
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
import type { Access } from '../build/access.ts'
import { isolationOf } from '../build/backends.ts'
import type { Keys } from '../build/governing.ts'
import type { Observing } from '../build/observing.ts'
import type { Offer } from '../build/offer.ts'
import type { Running } from '../build/running.ts'
import { requireProtection } from '../options/loopback.ts'
import type { ContractOptions, GrpcServerOptions, ServerOptions, Sizes } from '../options/options.ts'
import { createApprovalRoutes } from './approval-routes.ts'
import { createAuthorizationRoutes } from './authorization-routes.ts'
import { createCallbackRoutes } from './callback-routes.ts'
import { createMcpSurface, type McpSurface } from './mcp.ts'
import type { OpenTransports } from './stream-transports.ts'
import { createSystemRoutes } from './system-routes.ts'
import { createToolSurface, type FrameList } from './tool-handler.ts'
import type { WiredCarrier } from './wired/index.ts'

const MAX_WAIT_MS = 60_000
/** How long a protocol without polling waits for a call to end. */
const HOLD_MS = 30_000
/** Path of the explorer page, and of a second mount of the tools API. */
export const EXPLORER = '/explorer'
/** How long a Contract job may take to be returned at once. */
const JOB_WAIT_MS = 1_000

function contractSettings(sizes: Sizes, { details = 'json' }: ContractOptions = {}): ContractSettings {
  return { maxBodyBytes: sizes.envelopeBytes, holdMs: HOLD_MS, jobWaitMs: JOB_WAIT_MS, details, isolationOf }
}

/** What every protocol needs: the ports, the caller's identity, and size limits. */
export interface Mounting {
  calls: Calls
  catalog: Registry
  tools: Tools
  objects: ObjectStore
  records: Records
  transports: OpenTransports
  /** The carriers beside HTTP. */
  wired: readonly WiredCarrier[]
  env: Environment
  /** For dates that other machines set, such as a callback's. `env.clock` is the store's. */
  machineClock: Pick<Clock, 'now'>
  identify: (presented: Presented) => Identify
  /** True if callers must authenticate. */
  authenticated: boolean
  sizes: Sizes
}

/** `caller` is set for a client in this process, which presents no credential. */
export function openCallRoutes<App>(options: ServerOptions<App>, mounting: Mounting, caller?: Caller): Route[] {
  const { sizes, authenticated } = mounting
  return createOpenCallRoutes({
    ...mounting,
    ...(caller && { identify: () => () => caller }),
    settings: {
      strict: options.opencall?.strict ?? false,
      maxEnvelopeBytes: sizes.envelopeBytes,
      maxUploadBytes: sizes.uploadBytes,
      maxWaitMs: MAX_WAIT_MS,
      signLinks: authenticated,
      listRemoved: options.opencall?.listRemoved ?? false,
      eventStreamsPerCaller: options.opencall?.eventStreamsPerCaller ?? 100,
    },
  })
}

/** The routes of all protocols except MCP, which has more than routes. */
export function createProtocolRoutes<App>(
  options: ServerOptions<App>,
  mounting: Mounting,
  frameList?: FrameList,
): Route[] {
  const { env, sizes } = mounting
  const shared = { ...mounting, locate: locateResult }
  const surface = createToolSurface(
    createOperationTools({ ...shared, holdMs: HOLD_MS }),
    options.rest ?? {},
    sizes.envelopeBytes,
    env.log,
  )
  return [
    ...openCallRoutes(options, mounting),
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
    ...surface.explorer(EXPLORER, frameList),
    ...createContractRoutes({ ...shared, settings: contractSettings(sizes, options.contract) }),
  ]
}

/** The server's own routes: for operators, for tools that call back, and for people who decide or authorize. */
export function createOwnRoutes(
  { engine, maintenance }: Pick<Running, 'engine' | 'maintenance'>,
  { secrets, shown, authorizations }: Keys,
  { renderMetrics }: Pick<Observing, 'renderMetrics'>,
  { env, machineClock, identify, wired }: Pick<Mounting, 'env' | 'machineClock' | 'identify' | 'wired'>,
  store: Store,
  refuse: Refuse,
): Route[] {
  return [
    ...createSystemRoutes({
      draining: () => engine.draining,
      health: maintenance.health,
      carriers: () => Object.fromEntries(wired.flatMap(({ name, state }) => (state ? [[name, state()]] : []))),
      renderMetrics,
      metricsType: METRICS_CONTENT_TYPE,
      identify,
      refuse,
    }),
    ...createCallbackRoutes({
      ...createCallbackDesk({ env, store, registry: engine.registry, worker: engine.worker, secrets, shown }),
      clock: machineClock,
      refuse,
    }),
    ...createApprovalRoutes(engine.approvals, env, refuse),
    ...(authorizations ? createAuthorizationRoutes(authorizations, refuse) : []),
  ]
}

export function openMcp<App>(
  options: ServerOptions<App>,
  mounting: Mounting,
  { toolkit, isBare }: Offer,
  /** Operations with a call that was still running when the agent's wait ended. */
  overran: Pick<Set<string>, 'add' | 'has'>,
): McpSurface {
  const { calls, catalog, env, sizes } = mounting
  const { strict = false, listRemoved = false } = options.opencall ?? {}
  const parts = {
    ...mounting,
    overran,
    describe: (now: number) => encodeRegistry(catalog, now, { listRemoved }),
    envelopes: createEnvelopeCalls({ calls, catalog, env, strict }),
    toolkit,
    isBare,
    maxBodyBytes: sizes.envelopeBytes,
    holdMs: HOLD_MS,
    issuers: [...new Set((options.auth?.jwt ?? []).flatMap(({ issuer }) => issuer ?? []))],
  }
  return createMcpSurface(parts, options.mcp ?? {})
}

/** Loaded on first use. */
export async function openGrpc(
  { host = '127.0.0.1', port, tls }: GrpcServerOptions,
  contract: ContractOptions | undefined,
  mounting: Mounting,
  authenticator: Access['authenticator'],
  /** The origin for links in responses: the linked resources are served over HTTP only. */
  origin: () => string,
): Promise<Carrier<{ host: string; port: number }>> {
  requireProtection(host, authenticator)
  const { createGrpcCarrier } = await import('../../carriers/grpc/index.ts')
  const { log } = mounting.env
  const { sizes } = mounting
  const settings = contractSettings(sizes, contract)
  const methods = createContractMethods({ ...mounting, locate: locateResult, settings, origin })
  const carrier = createGrpcCarrier({ methods, maxBytes: sizes.envelopeBytes, log, ...(tls && { tls }) })
  return {
    async listen() {
      const listening = await carrier.listen({ host, port })
      log.info({ ...listening }, 'serving the Tool Contract over gRPC')
      return listening
    },
    close: (graceMs) => carrier.close(graceMs),
  }
}
