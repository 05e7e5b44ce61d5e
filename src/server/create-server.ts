/**
 * Composes a server from its adapters. The options are checked (`build/offer.ts`, `build/access.ts`), the storage and
 * the engine are opened (`build/storage.ts`, `build/running.ts`), the protocols are mounted (`mount/surfaces.ts`), and
 * the carriers are attached here.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { createFetchHandler } from '../carriers/fetch/index.ts'
import {
  createHttpCarrier,
  createRequestListener,
  type Listening,
  LOOPBACK_HOSTS,
  type RequestListener,
  Upgrades,
} from '../carriers/http/index.ts'
import type { Fault } from '../core/fault.ts'
import type { Exchange, Refusal, Refuse, Route } from '../core/ports/exchange.ts'
import type { Engine } from '../engine/engine.ts'
import { LEFTOVER_AGE_MS } from '../engine/follow/maintenance.ts'
import type { Registry } from '../engine/registry.ts'
import {
  EVENTS_TRANSPORT,
  encodeRegistry,
  type RegistryDocument,
  refusal,
  SOCKET_TRANSPORT,
  withAccessToken,
} from '../protocols/opencall/index.ts'
import { refusalAnswer as restRefusal } from '../protocols/rest/index.ts'
import { signRefusals, signRoutes } from '../security/signatures.ts'
import { registerProcessReadings } from '../telemetry/index.ts'
import { AboutServer } from './build/about-server.ts'
import { type Access, identifyBy, prepareAccess } from './build/access.ts'
import { describeBackend } from './build/backends.ts'
import { type Base, createBase, requireNode } from './build/base.ts'
import { registerCarrierReadings, registerEngineReadings } from './build/engine-readings.ts'
import { createEnvironment, followStore } from './build/environment.ts'
import { type Keys, loadAuthorizations, openSecrets } from './build/governing.ts'
import { openImports } from './build/imports.ts'
import { createObserving, type Observing } from './build/observing.ts'
import { type Own, prepareOffer } from './build/offer.ts'
import { buildRegistry } from './build/operations.ts'
import { packageVersion } from './build/package-version.ts'
import { createRunning, keepsHouse, peersOf, type Running } from './build/running.ts'
import { openStorage, type Storage } from './build/storage.ts'
import { createCellRouting } from './cells/cell-routing.ts'
import { Carriers } from './mount/carriers.ts'
import type { McpSurface } from './mount/mcp.ts'
import { createRequestLog, logRequests } from './mount/request-log.ts'
import { rootHint } from './mount/root-hint.ts'
import { createOpenCallSession, type MessageStreams, type Sessions, serveStreams } from './mount/sessions.ts'
import { OpenTransports } from './mount/stream-transports.ts'
import { createOwnRoutes, createProtocolRoutes, EXPLORER, type Mounting, openGrpc, openMcp } from './mount/surfaces.ts'
import { prepareWired, type WiredParts } from './mount/wired/index.ts'
import { lateSender } from './mount/wired/late.ts'
import { createAdminRecognition } from './open/admin-token.ts'
import { type DataFolder, openDataFolder } from './open/data-folder.ts'
import { linkKeys, vaultKeys } from './open/keys.ts'
import { requireSameKeys } from './open/shared-keys.ts'
import { checkBasePath } from './options/base-path.ts'
import { parseCells } from './options/cells.ts'
import { checkOptions } from './options/check-options.ts'
import { requireProtection } from './options/loopback.ts'
import { DEFAULT_SIZES, type ServerOptions } from './options/options.ts'
import type { WorkerLink } from './workers/link.ts'

export interface CallplaneServer {
  /** For `http.createServer`, Express and any other host that takes a Node request listener. */
  readonly listener: RequestListener
  /**
   * The same for Hono, Next.js, Bun, Deno and any other host that uses Fetch. A Fetch request has no client address:
   * without authentication, the host must listen on loopback only.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * For the `upgrade` event of an HTTP server of your own: OpenCALL over WebSocket, and the `upgrades` of the options.
   * Returns false, and leaves the socket alone, if the request is for something else.
   */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
  readonly engine: Engine
  readonly registry: Registry
  /** Starts an HTTP server, or an HTTPS server with `tls`. Without authentication, only on loopback. */
  listen(address?: { host?: string; port?: number }): Promise<Listening>
  /** The gRPC address of the Tool Contract, if `grpc` is set. */
  readonly grpc?: { host: string; port: number }
  /** Serves the Model Context Protocol on a pair of streams, until the input ends or the signal aborts. */
  serveMcp(streams: MessageStreams): Promise<void>
  /** Serves OpenCALL on a pair of streams, one envelope per line, until the input ends or the signal aborts. */
  serveOpenCall(streams: MessageStreams): Promise<void>
  /** The message-based protocols, for a carrier of your own. */
  readonly sessions: Sessions
  /** Finishes running calls or returns them to the queue, then closes everything. */
  close(graceMs?: number): Promise<void>
}

export function createServer<App = unknown>(options: ServerOptions<App>): Promise<CallplaneServer> {
  return openServer(options)
}

/** `link` is set if this is one of several worker processes. */
export async function openServer<App>(options: ServerOptions<App>, link?: WorkerLink): Promise<CallplaneServer> {
  requireNode()
  checkOptions(options)
  const base = createBase(options, link?.number)
  const { offer, runners, own } = await prepareOffer(options, base)
  const access = await prepareAccess(options, base, offer, runners, own)
  const folder = openDataFolder(options.data ?? '.callplane')
  const authorization = await loadAuthorizations(options, folder, base)
  const observing = await createObserving(options, base, link)
  const about = new AboutServer(base.clock)
  const storage = await openStorage(options, folder, base, link, () => about.facts())
  try {
    return await assemble(
      options,
      { base, offer, runners, own, access, folder, authorization, observing, storage, about },
      link,
    )
  } catch (thrown) {
    await runners.backends.close()
    base.remote.close()
    storage.closeObjects()
    await storage.store.close()
    throw thrown
  }
}

/** The parts of a server whose options are checked and whose storage is open. */
interface OpenedParts extends Awaited<ReturnType<typeof prepareOffer>> {
  base: Base
  access: Access
  folder: DataFolder
  authorization: Awaited<ReturnType<typeof loadAuthorizations>>
  observing: Observing
  storage: Storage
  about: AboutServer
}

/** If it fails, it stops what it started. The parts that it was given stay open. */
async function assemble<App>(
  options: ServerOptions<App>,
  { base, offer, runners, own, access, folder, authorization, observing, storage, about }: OpenedParts,
  link: WorkerLink | undefined,
): Promise<CallplaneServer> {
  const { store } = storage
  const clock = followStore(base.clock, store)
  const signing = linkKeys(options.links ?? {}, folder)
  // Others on the store must be able to read what this server writes. Without others, the vault's key is made when needed.
  if (store.peers)
    await requireSameKeys(store.records, {
      vault: vaultKeys(options.vault ?? {}, folder),
      links: signing,
      ...(options.signing && { signing: options.signing }),
    })
  const env = createEnvironment(base.log, signing, clock, base.redactor)
  const keys: Keys = {
    ...openSecrets({
      places: options.secrets,
      tokenEndpoints: options.tokenEndpoints,
      vaultKeys: () => vaultKeys(options.vault ?? {}, folder),
      store,
      remote: base.remote,
      env,
      shared: peersOf(store, link) !== undefined,
    }),
    authorizations: authorization?.open({ env, store, anonymous: access.authenticator === undefined }),
  }
  const sizes = { ...DEFAULT_SIZES, ...options.sizes }
  const wired = await prepareWired(options, base)
  const transports = new OpenTransports(wired, SOCKET_TRANSPORT, EVENTS_TRANSPORT)
  const parts = { env, offer, own, access, storage, keys, observing, sizes, transports, about }
  const running = createRunning(options, parts, link)
  const { engine, calls, maintenance } = running
  const imports = await openImports(runners.imports, {
    backend: runners.backendParts,
    env,
    registry: offer.registry,
    tools: offer.tools,
    secrets: keys.secrets,
    credentials: keys.credentials,
    wake: () => engine.worker.wake(),
  })
  const release = async () => {
    await imports.close()
    await runners.backends.close()
    base.remote.close()
    storage.closeObjects()
    await store.close()
  }
  const mounting: Mounting = {
    calls,
    catalog: offer.registry,
    tools: offer.tools,
    objects: storage.objects,
    transports,
    wired,
    records: store.records,
    env,
    machineClock: base.clock,
    identify: identifyBy(access.authenticator, createAdminRecognition(folder.adminToken, options.auth?.tenant)),
    authenticated: access.authenticator !== undefined,
    sizes,
  }
  const isFirst = keepsHouse(link)
  const start = async () => {
    if (isFirst) await storage.sweepUnfinished?.(LEFTOVER_AGE_MS)
    await maintenance.start()
    if (isFirst) await own.administration.resume()
    own.announcements?.start({
      engine,
      store,
      env,
      machineClock: base.clock,
      remote: base.remote,
      secrets: keys.secrets,
      sweptElsewhere: !isFirst,
    })
    engine.worker.wake()
  }
  const carriers = new Carriers(env.log)
  try {
    const version = access.authenticator === undefined ? packageVersion() : undefined
    // The root is no route: in an application with a page of its own, that page answers.
    const refuse = (exchange: Exchange, why: Refusal) =>
      (why.kind === 'path' ? rootHint(exchange, version) : undefined) ??
      (exchange.path.startsWith(`${EXPLORER}/`) ? restRefusal(why) : refusal(why, env.newId()))
    const overran = peersOf(store, link)?.siblings.sharedSet('overran') ?? new Set<string>()
    const mcp = openMcp(options, mounting, offer, overran)
    const protocols = createProtocolRoutes(options, mounting)
    const routes = [...protocols, ...createOwnRoutes(running, keys, observing, mounting, store, refuse), ...mcp.routes]
    return await serve(
      options,
      { routes, refuse, mcp },
      { mounting, access, running, observing, own, carriers, about },
      { start, release },
    )
  } catch (thrown) {
    await Promise.all([engine.worker.stop(0), carriers.close(0)])
    await running.lateReplies.stop()
    await maintenance.stop()
    await own.announcements?.stop()
    await imports.close()
    throw thrown
  }
}

interface Served {
  routes: readonly Route[]
  refuse: Refuse
  mcp: McpSurface
}

interface Serving {
  mounting: Mounting
  access: Access
  running: Running
  observing: Observing
  own: Own
  carriers: Carriers
  about: AboutServer
}

/** Starts the engine, and releases all open resources. */
interface Life {
  start(): Promise<void>
  release(): Promise<void>
}

async function serve<App>(
  options: ServerOptions<App>,
  { routes, refuse, mcp }: Served,
  { mounting, access, running, observing, own, carriers, about }: Serving,
  { start, release }: Life,
): Promise<CallplaneServer> {
  const { authenticator, signer } = access
  const { engine, maintenance, limits, lateReplies } = running
  const { worker } = engine
  const { log } = mounting.env
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
    ...(options.basePath !== undefined && { basePath: checkBasePath(options.basePath, routes) }),
  }
  const onSockets = { ...carriage, ...(open && { remote: 'loopback' as const }) }
  const altSvc = mounting.wired.find((carrier) => carrier.altSvc)?.altSvc
  const bare = createRequestListener(served, { ...onSockets, ...(altSvc && { altSvc }) })
  // A Fetch request has no client address: without authentication, the host must restrict access.
  const fetch = createFetchHandler(served, carriage)
  const logRequest = options.requestLog ? createRequestLog(log) : undefined
  const refuseOne = (fault: Fault) => refusal({ kind: 'fault', fault }, mounting.env.newId())
  const cells =
    options.cells &&
    authenticator &&
    createCellRouting({
      cells: parseCells(options.cells),
      authenticate(header, query) {
        const presented = withAccessToken({ header }, query)
        return authenticator.authenticate((name) => presented.header(name))
      },
      refuse: refuseOne,
      log,
    })
  const routed = cells ? cells.listener(bare) : bare
  const listener = logRequest ? logRequests(routed, logRequest) : routed
  const logged = logRequest && { served: logRequest }

  await start()
  const processReadings = registerProcessReadings(observing.metrics)
  registerEngineReadings(observing.metrics, limits)
  registerCarrierReadings(observing.metrics, mounting.wired)

  let origin = options.publicUrl ?? `${options.tls ? 'https' : 'http'}://127.0.0.1:4747`
  const grpc =
    options.grpc &&
    (await carriers.open(await openGrpc(options.grpc, options.contract, mounting, authenticator, () => origin)))
  const sessions: Sessions = { opencall: createOpenCallSession(options, mounting), mcp: mcp.session }
  const wiredParts: WiredParts = {
    env: mounting.env,
    sizes: mounting.sizes,
    calls: mounting.calls,
    identify: mounting.identify,
    session: (settings) => createOpenCallSession(options, mounting, settings),
    origin: () => origin,
    routes: served,
    site: { ...carriage, ...logged },
  }
  const claims = [...(options.upgrades ?? [])]
  for (const carrier of mounting.wired) {
    const opened = carrier.open(wiredParts)
    await carriers.open(opened)
    const { sendLate } = carrier
    if (sendLate)
      lateReplies.add(
        carrier.name,
        lateSender(sendLate, () => origin),
      )
    const upgrades = opened.upgrades ?? []
    claims.push(...(cells ? upgrades.map((claim) => cells.claim(claim)) : upgrades))
  }
  const upgrades = new Upgrades(claims, {
    ...onSockets,
    ...logged,
    refuse(request, fault) {
      const answer = refuseOne(fault)
      return signer ? signer(request, answer) : answer
    },
  })
  const lineSettings = () => ({ maxBytes: mounting.sizes.envelopeBytes, origin, log })
  let hasListened = false
  let closing: Promise<void> | undefined
  /** Settles when the worker of a closing server has stopped. */
  let stopping: Promise<void> = Promise.resolve()
  return {
    listener,
    // Hosts pass further arguments after the request, such as an environment or a server.
    fetch: (request) => fetch(request),
    upgrade: (request, socket, head) => upgrades.offer(request, socket, head),
    engine,
    registry: mounting.catalog,
    async listen({ host = '127.0.0.1', port = 4747 } = {}) {
      requireProtection(host, authenticator)
      const optional = { ...(claims.length > 0 && { upgrades }), ...(options.tls && { tls: options.tls }) }
      const idle = () => stopping
      const listening = await carriers.open(createHttpCarrier({ listener, host, port, idle, ...optional }))
      if (options.publicUrl === undefined) origin = listening.url
      about.address = listening.url
      hasListened = true
      return listening
    },
    ...(grpc && { grpc }),
    serveMcp: (streams) => serveStreams(sessions.mcp, streams, lineSettings(), carriers),
    serveOpenCall: (streams) => serveStreams(sessions.opencall, streams, lineSettings(), carriers),
    sessions,
    close: (graceMs = 10_000) => (closing ??= closeAll(graceMs)),
  }

  async function closeAll(graceMs: number): Promise<void> {
    // A server that could not listen, or that an application hosts, has nothing to announce.
    if (hasListened) log.info({ graceMs }, 'stopping: no more calls are accepted, and running ones may finish')
    engine.drain()
    stopping = worker.stop(graceMs)
    mcp.close()
    await lateReplies.stop()
    await Promise.all([stopping, carriers.close(graceMs)])
    // A call that was being recorded at the first stop may have started since.
    await worker.stop(0)
    await maintenance.stop()
    await own.announcements?.stop()
    processReadings[Symbol.dispose]()
    cells?.close()
    await release()
    if (hasListened) log.info({}, 'stopped')
  }
}

/** Returns what a server with these operations would serve at `/.well-known/ops`. Opens and starts nothing. */
export function describeOperations(operations: ServerOptions['operations'], now: number): RegistryDocument {
  const registry = buildRegistry(operations, describeBackend)
  return encodeRegistry(registry, now)
}

function hostsOf(publicUrl: string | undefined): string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).host]
}
