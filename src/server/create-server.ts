/**
 * Where the adapters meet. A server is prepared (`prepare.ts`), opened on its storage (`node.ts`), given its protocols
 * (`surfaces.ts`) and put on carriers here.
 */
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
import type { Exchange, Refusal } from '../core/ports/exchange.ts'
import type { Engine } from '../engine/engine.ts'
import { LEFTOVER_AGE_MS } from '../engine/follow/maintenance.ts'
import type { Registry } from '../engine/registry.ts'
import { encodeRegistry, type RegistryDocument, refusal } from '../protocols/opencall/index.ts'
import { refusalAnswer as restRefusal } from '../protocols/rest/index.ts'
import { signRefusals, signRoutes } from '../security/signatures.ts'
import { registerProcessReadings } from '../telemetry/index.ts'
import { describeBackend } from './build/backends.ts'
import { registerEngineReadings } from './build/engine-readings.ts'
import { type Imports, openImports } from './build/imports.ts'
import { keepsHouse, type Node, openNode } from './build/node.ts'
import { buildRegistry } from './build/operations.ts'
import { type Prepared, prepare } from './build/prepare.ts'
import type { McpStreams } from './mount/mcp.ts'
import { logRequests } from './mount/request-log.ts'
import { createRoutes, EXPLORER, openGrpc, openMcp } from './mount/surfaces.ts'
import { checkBasePath } from './options/base-path.ts'
import { requireProtection } from './options/loopback.ts'
import type { ServerOptions } from './options/options.ts'
import type { WorkerLink } from './workers/link.ts'

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
  /** Where the Tool Contract is served over gRPC, if it is. */
  readonly grpc?: { host: string; port: number }
  /** The Model Context Protocol on a pair of streams, until the input has ended or the signal aborts. */
  serveMcp(streams: McpStreams): Promise<void>
  /** Finishes or hands back what is running, then closes everything. */
  close(graceMs?: number): Promise<void>
}

export function createServer<App = unknown>(options: ServerOptions<App>): Promise<CallplaneServer> {
  return openServer(options)
}

/** `link` where this is one of several worker processes. */
export async function openServer<App>(options: ServerOptions<App>, link?: WorkerLink): Promise<CallplaneServer> {
  const prepared = await prepare(options, link?.number)
  const node = await openNode(options, prepared, link)
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
    return await serve(options, prepared, node, imports, keepsHouse(link))
  } catch (thrown) {
    await node.engine.worker.stop(0)
    await node.maintenance.stop()
    await imports.close()
    await prepared.backends.close()
    prepared.remote.close()
    await node.store.close()
    throw thrown
  }
}

async function serve<App>(
  options: ServerOptions<App>,
  prepared: Prepared,
  node: Node,
  imports: Imports,
  isFirst: boolean,
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
    ...(options.basePath !== undefined && { basePath: checkBasePath(options.basePath, routes) }),
  }
  const bare = createRequestListener(served, { ...carriage, ...(open && { remote: 'loopback' as const }) })
  // A Fetch request does not say where it comes from: who mounts this without authentication answers for that.
  const fetch = createFetchHandler(served, carriage)
  const listener = options.requestLog ? logRequests(bare, log) : bare

  if (isFirst) await files?.sweep(LEFTOVER_AGE_MS)
  await maintenance.start()
  if (isFirst) await prepared.own.resume()
  announcements?.start({ engine, store, env, remote, secrets, sweptElsewhere: !isFirst })
  worker.wake()
  const processReadings = registerProcessReadings(metrics)
  registerEngineReadings(metrics, limits)

  const servers = new Set<Server>()
  let origin = options.publicUrl ?? 'http://127.0.0.1:4747'
  const grpc = options.grpc && (await openGrpc(options.grpc, options.contract, prepared, node, () => origin))
  let closing: Promise<void> | undefined
  return {
    listener,
    // Hosts pass things of their own after the request: an environment, a server.
    fetch: (request) => fetch(request),
    engine,
    registry,
    async listen({ host = '127.0.0.1', port = 4747 } = {}) {
      requireProtection(host, authenticator)
      const server = createHttpServer(listener)
      servers.add(server)
      const listening = await listen(server, { host, port })
      if (options.publicUrl === undefined) origin = listening.url
      return listening
    },
    ...(grpc && { grpc: { host: grpc.host, port: grpc.port } }),
    serveMcp: (streams) => mcp.serve(streams),
    close: (graceMs = 10_000) => (closing ??= closeAll(graceMs)),
  }

  async function closeAll(graceMs: number): Promise<void> {
    engine.drain()
    mcp.close()
    const closings = [...servers].map((server) => closeHttpServer(server, graceMs))
    await Promise.all([worker.stop(graceMs), grpc?.close(graceMs), ...closings])
    // A call that was being written down when the first word came has begun since.
    await worker.stop(0)
    await maintenance.stop()
    await announcements?.stop()
    processReadings[Symbol.dispose]()
    await imports.close()
    await backends.close()
    remote.close()
    await store.close()
  }
}

/** What a server with these operations would answer at `/.well-known/ops`; nothing is opened or started. */
export function describeOperations(operations: ServerOptions['operations'], now: number): RegistryDocument {
  const registry = buildRegistry(operations, describeBackend)
  return encodeRegistry(registry, now)
}

function hostsOf(publicUrl: string | undefined): string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).host]
}
