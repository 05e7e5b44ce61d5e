/** Where the adapters meet: the only file that knows which store, which carrier and which protocols a server has. */
import type { Server } from 'node:http'
import { createFetchHandler } from '../carriers/fetch/index.ts'
import {
  closeHttpServer,
  createHttpServer,
  createRequestListener,
  type Listening,
  LOOPBACK_HOSTS,
  listen,
  type RequestListener,
} from '../carriers/http/index.ts'
import { Engine } from '../core/engine.ts'
import type { Exchange, Refusal, Refuse, Route } from '../core/exchange.ts'
import { Fault } from '../core/fault.ts'
import { FollowUp } from '../core/follow-up.ts'
import { DEFAULT_LIMITS, Limits } from '../core/limits.ts'
import { Maintenance } from '../core/maintenance.ts'
import { ANONYMOUS, type Caller } from '../core/model.ts'
import type { Operation } from '../core/operation.ts'
import type { Clock, Identify, Log } from '../core/ports.ts'
import type { Registry } from '../core/registry.ts'
import { createTools } from '../core/tools.ts'
import type { AuthConfig, Authenticator } from '../governance/auth.ts'
import { readCredential } from '../governance/auth-credential.ts'
import { createFetcher } from '../governance/outbound.ts'
import { createRedactor } from '../governance/redaction.ts'
import { createRemoteClient } from '../governance/remote.ts'
import { scopesGuard } from '../governance/scopes.ts'
import { createSigner, signRefusals, signRoutes } from '../governance/signatures.ts'
import { createFileObjects } from '../objects/files/index.ts'
import {
  type ContractSettings,
  contractCode,
  contractWords,
  createContractMethods,
  createContractRoutes,
  createWaiters,
} from '../protocols/contract/index.ts'
import {
  createEnvelopeCalls,
  createOpenCallRoutes,
  encodeRegistry,
  locateResult,
  type RegistryDocument,
  refusal,
} from '../protocols/opencall/index.ts'
import { createOxpRoutes } from '../protocols/oxp/index.ts'
import { createOperationTools, refusalAnswer as restRefusal } from '../protocols/rest/index.ts'
import { createSqliteStore } from '../stores/sqlite/index.ts'
import {
  combineObservers,
  createExecutionLog,
  createLog,
  createMetrics,
  loadTracing,
  METRICS_CONTENT_TYPE,
  registerProcessReadings,
} from '../telemetry/index.ts'
import { createAdminRecognition, type RecognizeAdmin } from './admin-token.ts'
import { Announcements } from './announcements.ts'
import { createApprovalRoutes } from './approval-routes.ts'
import { createAuthorizationRoutes } from './authorization-routes.ts'
import { describeBackend, loadBackends } from './backends.ts'
import { createCallbackDesk } from './callback-desk.ts'
import { createCallbackRoutes } from './callback-routes.ts'
import { checkOptions } from './check-options.ts'
import { createInjector } from './context-source.ts'
import { type DataFolder, openDataFolder } from './data-folder.ts'
import { registerEngineReadings } from './engine-readings.ts'
import { createEnvironment, systemClock } from './environment.ts'
import { loadPolicyGuard, openSecrets } from './governing.ts'
import { type Imports, openImports, prepareImports } from './imports.ts'
import { warnOfLeftOut } from './left-out.ts'
import { isLoopback } from './loopback.ts'
import { createMcpSurface, type McpStreams, type McpSurface } from './mcp.ts'
import { buildRegistry } from './operations.ts'
import {
  DEFAULT_SIZES,
  DEFAULT_TOOLKIT,
  DEFAULT_WORK,
  type GrpcServerOptions,
  type ServerOptions,
  type Sizes,
} from './options.ts'
import { createOwnOperations, isOurs, refuseOwnNames } from './own-operations.ts'
import { logRequests } from './request-log.ts'
import { createResultCache } from './result-cache.ts'
import { createSystemRoutes, METRICS_SCOPE } from './system-routes.ts'
import { createToolSurface } from './tool-handler.ts'
import { vaultKeys } from './vault-keys.ts'

export interface CallplaneServer {
  /** For `http.createServer`, Express and whatever else takes a Node request listener. */
  readonly listener: RequestListener
  /**
   * The same for Hono, Next.js, Bun, Deno and whatever else speaks Fetch. A Fetch request does not say where it comes
   * from: without authentication, keep whatever this is mounted in on loopback.
   */
  readonly fetch: (request: Request) => Promise<Response>
  readonly engine: Engine
  readonly registry: Registry
  /** A server of its own. Without authentication only on loopback. */
  listen(address?: { host?: string; port?: number }): Promise<Listening>
  /** The Model Context Protocol on a pair of streams, until the input has ended or the signal aborts. */
  serveMcp(streams: McpStreams): Promise<void>
  /** Finishes or hands back what is running, then closes everything. */
  close(graceMs?: number): Promise<void>
}

/** Without authentication everybody on this machine is the same caller, and may do and see everything but administer. */
const LOCAL: Caller = { ...ANONYMOUS, scopes: ['*', METRICS_SCOPE] }
const STOP_GRACE_MS = 5_000
const MAX_WAIT_MS = 60_000
/** How long a protocol without polling waits for a call to end. */
const HOLD_MS = 30_000
/** Where the page of the tools is, and their API once more. */
const EXPLORER = '/explorer'
const TIDY_EVERY_MS = 5_000
const AUDIT_DAYS = 90
/** How long a Contract job may take to be answered at once. */
const JOB_WAIT_MS = 1_000
const LEFTOVER_MS = 3_600_000

export async function createServer<App = unknown>(options: ServerOptions<App>): Promise<CallplaneServer> {
  const prepared = await prepare(options)
  const node = await openNode(options, prepared)
  const imports = await openImports(prepared.imports, {
    backend: prepared.backendParts,
    env: node.env,
    registry: prepared.registry,
    tools: prepared.tools,
    secrets: node.secrets,
    credentials: node.credentials,
    wake: () => node.engine.worker.wake(),
  })
  try {
    return await serve(options, prepared, node, imports)
  } catch (thrown) {
    await imports.close()
    await node.store.close()
    throw thrown
  }
}

type Prepared = Awaited<ReturnType<typeof prepare>>
type Node = Awaited<ReturnType<typeof openNode>>

/** Whatever can be refused without opening anything. */
async function prepare<App>(options: ServerOptions<App>) {
  checkOptions(options)
  const clock = options.clock ?? systemClock
  const redactor = createRedactor()
  const log = chooseLog(options, redactor)
  const remote = createRemoteClient()
  refuseOwnNames(options.operations)
  const definitions = options.operations.flatMap((entry) => ('removed' in entry ? [] : [entry]))
  const own = createOwnOperations()
  const announcements = options.announce && new Announcements(options.announce)
  const ours = [...own.definitions, ...(announcements ? [announcements.definition] : [])]
  const backendParts = { clock, log, remote, lookup: remote.lookup, folder: process.cwd() }
  const backends = await loadBackends(definitions, backendParts)
  const imports = await prepareImports(options.imports)
  const registry = buildRegistry([...options.operations, ...ours], backends.create)
  const policy = options.policy !== undefined && (await loadPolicyGuard(options.policy, operationsIn(registry), log))
  const announced = announcements ? [announcements.guard] : []
  const guards = [scopesGuard, ...announced, ...(policy ? [policy] : []), ...(options.guards ?? [])]
  const tools = createTools(registry, options.toolkit ?? DEFAULT_TOOLKIT, isTool, warnOfLeftOut(log))
  const authenticator = options.auth && (await loadAuthenticator(options.auth, clock))
  const signer = options.signing && createSigner(options.signing, clock)
  const sizes = { ...DEFAULT_SIZES, ...options.sizes }
  return {
    clock,
    registry,
    tools,
    authenticator,
    signer,
    inject: createInjector(options.context),
    remote,
    backends,
    backendParts,
    imports,
    guards,
    own,
    announcements,
    redactor,
    log,
    sizes,
  }
}

/** The engine on its storage, with everything that follows up on calls. */
async function openNode<App>(options: ServerOptions<App>, prepared: Prepared) {
  const { clock, registry, authenticator, inject, redactor, log, sizes, remote, guards, own, announcements } = prepared
  const folder = openDataFolder(options.data ?? '.callplane')
  const authorization = await loadAuthorizations(options, folder, clock)
  const metrics = createMetrics({ codeOf: contractCode })
  const tracing = await loadTracing({ redact: redactor.redact, words: contractWords })
  const executions = showsInfo(options.log) ? createExecutionLog({ log, words: contractWords }) : undefined
  const observers = combineObservers(metrics, tracing, executions)
  const observer = announcements ? announcements.observing(observers) : observers
  const env = createEnvironment(log, folder.linkKey, clock, redactor)
  const files = options.objects ? undefined : createFileObjects({ folder: folder.objects, clock })
  const objects = options.objects ?? (files as NonNullable<typeof files>)
  const limits = new Limits({ ...DEFAULT_LIMITS, ...options.limits }, clock)
  const store = options.store ?? createSqliteStore({ file: folder.database, clock })
  const authorizations = authorization?.open({ env, store, anonymous: authenticator === undefined })
  const { secrets, credentials, shown } = openSecrets({
    places: options.secrets,
    tokenEndpoints: options.tokenEndpoints,
    vaultKeys: () => vaultKeys(options.vault ?? {}, folder),
    store,
    remote,
    clock,
  })
  const engine = new Engine({
    env,
    registry,
    store,
    objects,
    limits,
    fetcher: createFetcher(options.references ?? {}),
    guards,
    credentials,
    shown,
    cache: createResultCache(clock),
    work: { ...DEFAULT_WORK, ...options.work },
    chunkBytes: sizes.chunkBytes,
    maxObjectBytes: sizes.objectBytes,
    stopGraceMs: STOP_GRACE_MS,
    ...(authorizations && { authorizations }),
    ...(observer && { observer }),
    // Ours run for whoever administers, whom the application may not know.
    ...(inject && { inject: (job) => (isOurs(job.operation) ? {} : inject(job)) }),
  })
  const { worker, approvals } = engine
  own.connect({ approvals, worker, store, clock })
  const identify = identifyBy(authenticator, createAdminRecognition(folder.adminToken, options.auth?.tenant))
  const auditMs = (options.audit?.keepDays ?? AUDIT_DAYS) * 86_400_000
  const followUp = new FollowUp({ env, registry, store, objects, limits, worker, cancelWaitMs: STOP_GRACE_MS * 2 })
  const maintenance = new Maintenance({
    env,
    registry,
    store,
    objects,
    limits,
    worker,
    everyMs: TIDY_EVERY_MS,
    auditMs,
  })
  return {
    env,
    store,
    files,
    objects,
    limits,
    metrics,
    authorizations,
    secrets,
    credentials,
    shown,
    engine,
    followUp,
    maintenance,
    identify,
    waiters: createWaiters(),
  }
}

/** Who sent this, as its headers or metadata say. */
function identifyBy(authenticator: Authenticator | undefined, recognizeAdmin: RecognizeAdmin) {
  return (source: { header(name: string): string | undefined }): Identify => {
    const header = (name: string) => source.header(name)
    if (!authenticator) return () => recognizeAdmin(header) ?? LOCAL
    return () => recognizeAdmin(header) ?? authenticator.authenticate(readCredential(header))
  }
}

function contractSettings(sizes: Sizes): ContractSettings {
  return { maxBodyBytes: sizes.envelopeBytes, holdMs: HOLD_MS, jobWaitMs: JOB_WAIT_MS }
}

/** Every protocol's routes. */
function createRoutes<App>(
  options: ServerOptions<App>,
  { tools, authenticator, log, sizes }: Prepared,
  node: Node,
  refuse: Refuse,
): Route[] {
  const { engine, followUp, objects, env, metrics, store, secrets, shown, authorizations, identify, waiters } = node
  const shared = {
    engine,
    followUp,
    objects,
    env,
    identify,
    tools,
    locate: locateResult,
    ...(authorizations && { authorizations }),
  }
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
      ready: () => !engine.draining,
      renderMetrics: () => metrics.render(),
      metricsType: METRICS_CONTENT_TYPE,
      identify,
      refuse,
    }),
    ...createContractRoutes({ ...shared, waiters, records: store.records, settings: contractSettings(sizes) }),
    ...createCallbackRoutes({
      ...createCallbackDesk({ env, store, registry: engine.registry, worker: engine.worker, secrets, shown }),
      clock: env.clock,
      refuse,
    }),
    ...createApprovalRoutes(engine.approvals, env, refuse),
    ...(authorizations ? createAuthorizationRoutes(authorizations, refuse) : []),
  ]
}

function openMcp<App>(options: ServerOptions<App>, { tools, authenticator, sizes }: Prepared, node: Node): McpSurface {
  const { engine, followUp, objects, env, store, identify, authorizations } = node
  const parts = {
    engine,
    followUp,
    objects,
    env,
    identify,
    tools,
    ...(authorizations && { authorizations }),
    records: store.records,
    describe: (now: number) => encodeRegistry(engine.registry, now),
    envelopes: createEnvelopeCalls({
      engine,
      env,
      strict: options.opencall?.strict ?? false,
      ...(authorizations && { authorizations }),
    }),
    toolkit: options.toolkit ?? DEFAULT_TOOLKIT,
    origin: options.publicUrl ?? 'http://127.0.0.1:4747',
    maxBodyBytes: sizes.envelopeBytes,
    holdMs: HOLD_MS,
    authenticated: authenticator !== undefined,
    issuers: [...new Set((options.auth?.jwt ?? []).flatMap(({ issuer }) => issuer ?? []))],
  }
  return createMcpSurface(parts, options.mcp ?? {})
}

async function serve<App>(
  options: ServerOptions<App>,
  prepared: Prepared,
  node: Node,
  imports: Imports,
): Promise<CallplaneServer> {
  const { authenticator, signer, log, registry, backends, remote, announcements } = prepared
  const { env, store, files, limits, metrics, engine, maintenance, secrets } = node
  const { worker } = engine
  const refuse = (exchange: Exchange, why: Refusal) =>
    exchange.path.startsWith(`${EXPLORER}/`) ? restRefusal(why) : refusal(why, env.newId())
  const mcp = openMcp(options, prepared, node)
  const routes = [...createRoutes(options, prepared, node, refuse), ...mcp.routes]
  const open = authenticator === undefined && options.hosts === undefined
  const hosts = open ? [...LOOPBACK_HOSTS, ...hostsOf(options.publicUrl)] : options.hosts
  const served = signer ? signRoutes(routes, signer) : routes
  const carriage = {
    fallback: signer ? signRefusals(refuse, signer) : refuse,
    crossSite: 'refuse' as const,
    log,
    ...(hosts && { hosts }),
    ...(options.cors && { cors: options.cors }),
    ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
  }
  const bare = createRequestListener(served, { ...carriage, ...(open && { remote: 'loopback' as const }) })
  // A Fetch request does not say where it comes from: who mounts this without authentication answers for that.
  const fetch = createFetchHandler(served, carriage)
  const listener = options.requestLog ? logRequests(bare, log) : bare

  await files?.sweep(LEFTOVER_MS)
  await maintenance.start()
  await prepared.own.resume()
  announcements?.start({ engine, store, env, remote, secrets })
  worker.wake()
  const sweeping = maintenance.sweepLeftovers().catch((err) => log.warn({ err }, 'leftovers could not be swept'))
  const processReadings = registerProcessReadings(metrics)
  registerEngineReadings(metrics, limits)

  const grpc = options.grpc && (await openGrpc(options.grpc, prepared, node))
  const servers = new Set<Server>()
  let closing: Promise<void> | undefined
  return {
    listener,
    // Hosts pass things of their own after the request: an environment, a server.
    fetch: (request) => fetch(request),
    engine,
    registry,
    async listen({ host = '127.0.0.1', port = 4747 } = {}) {
      if (!authenticator && !isLoopback(host)) throw unprotected(host)
      const server = createHttpServer(listener)
      servers.add(server)
      return listen(server, { host, port })
    },
    serveMcp: (streams) => mcp.serve(streams),
    close: (graceMs = 10_000) => (closing ??= closeAll(graceMs)),
  }

  async function closeAll(graceMs: number): Promise<void> {
    engine.drain()
    const closings = [...servers].map((server) => closeHttpServer(server, graceMs))
    await Promise.all([worker.stop(graceMs), grpc?.close(graceMs), ...closings])
    // A call that was being written down when the first word came has begun since.
    await worker.stop(0)
    await maintenance.stop()
    await announcements?.stop()
    await sweeping
    processReadings[Symbol.dispose]()
    await imports.close()
    await backends.close()
    remote.close()
    await store.close()
  }
}

/** Loaded when it is used. */
async function openGrpc(
  { host = '127.0.0.1', port, tls }: GrpcServerOptions,
  { authenticator, tools, log, sizes }: Prepared,
  { engine, followUp, env, store, identify, waiters }: Node,
) {
  if (!authenticator && !isLoopback(host)) throw unprotected(host)
  const { createGrpcCarrier } = await import('../carriers/grpc/index.ts')
  const methods = createContractMethods({
    engine,
    followUp,
    env,
    tools,
    records: store.records,
    identify,
    locate: locateResult,
    waiters,
    settings: contractSettings(sizes),
    origin: () => `${tls ? 'https' : 'http'}://${host}:${port}`,
  })
  const carrier = createGrpcCarrier({ methods, maxBytes: sizes.envelopeBytes, log, ...(tls && { tls }) })
  const listening = await carrier.listen({ host, port })
  log.info({ ...listening }, 'the Tool Contract is served over gRPC')
  return { ...carrier, ...listening }
}

/** What a server with these operations would answer at `/.well-known/ops`; nothing is opened or started. */
export function describeOperations(operations: ServerOptions['operations'], now: number): RegistryDocument {
  const registry = buildRegistry(operations, describeBackend)
  return encodeRegistry(registry, now)
}

function operationsIn(registry: Registry): Operation[] {
  return registry.keys.flatMap((key) => registry.byKey(key) ?? [])
}

/** Loaded when it is used: what verifies JWTs takes 40 ms and 16 MB. */
async function loadAuthenticator(auth: AuthConfig, clock: Clock): Promise<Authenticator> {
  const { createAuthenticator } = await import('../governance/auth.ts')
  return createAuthenticator(auth, clock)
}

/** Loaded when it is used: most servers have no providers. */
async function loadAuthorizations(
  { authorization: config, vault = {} }: Pick<ServerOptions, 'authorization' | 'vault'>,
  folder: DataFolder,
  clock: Clock,
) {
  if (!config) return undefined
  const { prepareAuthorizations } = await import('./authorizations.ts')
  return prepareAuthorizations({ config, vault, folder, clock })
}

function hostsOf(publicUrl: string | undefined): string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).host]
}

function chooseLog(
  { log = 'silent', logTo }: Pick<ServerOptions, 'log' | 'logTo'>,
  redactor: ReturnType<typeof createRedactor>,
): Log {
  return typeof log === 'object' ? log : createLog({ level: log, redactor, ...(logTo && { destination: logTo }) })
}

/** Of a log that is the application's own, it cannot be told. */
function showsInfo(log: ServerOptions['log']): boolean {
  return typeof log === 'object' || log === 'info' || log === 'debug'
}

/** Tools take and give JSON: what cannot run without an attachment is none. What administers is not for models. */
function isTool({ media, internal }: Operation): boolean {
  return !internal && !media.some((slot) => slot.required)
}

function unprotected(host: string): Fault {
  return new Fault(
    'malformed',
    `Without authentication the server listens on loopback only, not on ${host}. Configure auth first.`,
    { code: 'UNPROTECTED' },
  )
}
