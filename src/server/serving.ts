/** A server whose parts are open: its listeners, its carriers, and their end. `create-server.ts` opens the parts. */
import { createFetchHandler } from '../carriers/fetch/index.ts'
import { createHttpCarrier, createRequestListener, LOOPBACK_HOSTS, Upgrades } from '../carriers/http/index.ts'
import { ANONYMOUS } from '../core/call/caller.ts'
import type { Fault } from '../core/fault.ts'
import type { Refuse, Route } from '../core/ports/exchange.ts'
import { refusal, withAccessToken } from '../protocols/opencall/index.ts'
import { signRefusals, signRoutes } from '../security/signatures.ts'
import { registerProcessReadings } from '../telemetry/index.ts'
import type { AboutServer } from './build/about-server.ts'
import type { Access } from './build/access.ts'
import { registerCarrierReadings, registerEngineReadings } from './build/engine-readings.ts'
import type { Observing } from './build/observing.ts'
import type { Own } from './build/offer.ts'
import type { Running } from './build/running.ts'
import type { CallplaneServer, Sessions } from './callplane-server.ts'
import { createCellRouting } from './cells/cell-routing.ts'
import type { ConsoleLogin } from './console/login.ts'
import type { Carriers } from './mount/carriers.ts'
import { createInProcessClient, trusted } from './mount/in-process.ts'
import type { McpSurface } from './mount/mcp.ts'
import { createRequestLog, logRequests } from './mount/request-log.ts'
import { createOpenCallSession, serveStreams } from './mount/sessions.ts'
import { type Mounting, openCallRoutes, openGrpc } from './mount/surfaces.ts'
import type { WiredParts } from './mount/wired/index.ts'
import { lateSender } from './mount/wired/late.ts'
import { checkBasePath } from './options/base-path.ts'
import { requireProtection } from './options/loopback.ts'
import type { ServerOptions } from './options/options.ts'

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
  login: ConsoleLogin | undefined
}

/** Starts the engine, and releases all open resources. */
interface Life {
  start(): Promise<void>
  release(): Promise<void>
}

export async function serve<App>(
  options: ServerOptions<App>,
  { routes, refuse, mcp }: Served,
  { mounting, access, running, observing, own, carriers, about, login }: Serving,
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
    access.cells &&
    authenticator &&
    createCellRouting({
      cells: access.cells,
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

  const { basePath = '' } = options
  let origin = options.publicUrl ?? `${options.tls ? 'https' : 'http'}://127.0.0.1:4747${basePath}`
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
      if (options.publicUrl === undefined) origin = listening.url + basePath
      about.address = listening.url
      hasListened = true
      return listening
    },
    ...(grpc && { grpc }),
    serveMcp: (streams) => serveStreams(sessions.mcp, streams, lineSettings(), carriers),
    serveOpenCall: (streams) => serveStreams(sessions.opencall, streams, lineSettings(), carriers),
    sessions,
    client(caller) {
      const { tenant = ANONYMOUS.tenant } = options.auth ?? {}
      const known = trusted(caller, tenant)
      if (known.tenant !== tenant) about.hasTenants = true
      return createInProcessClient(
        createFetchHandler(openCallRoutes(options, mounting, known), {
          fallback: refuse,
          log,
        }),
      )
    },
    loginCode: async ({ readOnly } = {}) => login?.createCode(readOnly),
    close: (graceMs = 10_000) => (closing ??= closeAll(graceMs)),
  }

  async function closeAll(graceMs: number): Promise<void> {
    // A server that could not listen, or that an application hosts, has nothing to announce.
    if (hasListened) log.info({ graceMs }, 'stopping: no more calls are accepted, and running ones may finish')
    engine.drain()
    stopping = worker.stop(graceMs)
    mcp.close()
    await lateReplies.stop()
    running.changes.release()
    await Promise.all([stopping, carriers.close(graceMs)])
    // A call that was being recorded at the first stop may have started since.
    await worker.stop(0)
    await maintenance.stop()
    await running.changes.stop()
    await own.announcements?.stop()
    processReadings[Symbol.dispose]()
    cells?.close()
    await release()
    if (hasListened) log.info({}, 'stopped')
  }
}

function hostsOf(publicUrl: string | undefined): string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).host]
}
