/**
 * Composes a server from its adapters. The options are checked (`build/offer.ts`, `build/access.ts`), the storage and
 * the engine are opened (`build/storage.ts`, `build/running.ts`), the protocols are mounted (`mount/surfaces.ts`), and
 * the carriers are attached (`serving.ts`).
 */
import type { Exchange, Refusal } from '../core/ports/exchange.ts'
import { LEFTOVER_AGE_MS } from '../engine/follow/maintenance.ts'
import {
  EVENTS_TRANSPORT,
  encodeRegistry,
  type RegistryDocument,
  refusal,
  SOCKET_TRANSPORT,
} from '../protocols/opencall/index.ts'
import { refusalAnswer as restRefusal } from '../protocols/rest/index.ts'
import { AboutServer } from './build/about-server.ts'
import { type Access, identifyBy, LOCAL, prepareAccess } from './build/access.ts'
import { describeBackend } from './build/backends.ts'
import { type Base, createBase, requireNode } from './build/base.ts'
import { createEnvironment, followStore } from './build/environment.ts'
import { type Keys, loadAuthorizations, openSecrets } from './build/governing.ts'
import { openImports } from './build/imports.ts'
import { createObserving, type Observing } from './build/observing.ts'
import { prepareOffer } from './build/offer.ts'
import { buildRegistry } from './build/operations.ts'
import { packageVersion } from './build/package-version.ts'
import { createRunning, keepsHouse, peersOf } from './build/running.ts'
import { openStorage, type Storage } from './build/storage.ts'
import type { CallplaneServer } from './callplane-server.ts'
import { createLoginRoutes } from './console/login-routes.ts'
import { openConsole } from './console/open-console.ts'
import { openConsolePage } from './console/page-routes.ts'
import { Carriers } from './mount/carriers.ts'
import { createOpenApiRoute } from './mount/openapi-route.ts'
import { rootHint } from './mount/root-hint.ts'
import { OpenTransports } from './mount/stream-transports.ts'
import { createOwnRoutes, createProtocolRoutes, EXPLORER, type Mounting, openMcp } from './mount/surfaces.ts'
import { prepareWired } from './mount/wired/index.ts'
import { createAdminRecognition } from './open/admin-token.ts'
import { type DataFolder, openDataFolder } from './open/data-folder.ts'
import { linkKeys, vaultKeys } from './open/keys.ts'
import { requireSameKeys } from './open/shared-keys.ts'
import { checkOptions } from './options/check-options.ts'
import { DEFAULT_SIZES, type ServerOptions } from './options/options.ts'
import { serve } from './serving.ts'
import type { WorkerLink } from './workers/link.ts'

export type { CallplaneServer } from './callplane-server.ts'

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
  const recognizeAdmin = createAdminRecognition(folder.adminToken, options.auth?.tenant)
  const opened = await openConsole(options, {
    env,
    records: store.records,
    base,
    authenticator: access.authenticator,
    recognizeAdmin,
    adminToken: folder.adminToken,
    local: access.authenticator ? undefined : LOCAL,
    siblings: peersOf(store, link)?.siblings,
  })
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
    identify: identifyBy(access.authenticator, recognizeAdmin, opened?.sessions),
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
    await running.changes.start()
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
    const page = options.console === false ? undefined : openConsolePage(EXPLORER, refuse)
    const protocols = createProtocolRoutes(options, mounting, page?.frame)
    const openApi = createOpenApiRoute({ ...mounting, publicUrl: options.publicUrl }, refuse)
    const ownRoutes = createOwnRoutes(running, keys, observing, mounting, store, refuse)
    const login = opened ? createLoginRoutes(opened.login, mounting.identify, refuse) : []
    const routes = [...protocols, openApi, ...ownRoutes, ...mcp.routes, ...(page?.routes ?? []), ...login]
    return await serve(
      options,
      { routes, refuse, mcp },
      { mounting, access, running, observing, own, carriers, about, login: opened?.login },
      { start, release },
    )
  } catch (thrown) {
    await Promise.all([engine.worker.stop(0), carriers.close(0)])
    await running.lateReplies.stop()
    await running.changes.stop()
    await maintenance.stop()
    await own.announcements?.stop()
    await imports.close()
    throw thrown
  }
}

/** Returns what a server with these operations and transports would serve at `/.well-known/ops`. Starts nothing. */
export function describeOperations(
  operations: ServerOptions['operations'],
  now: number,
  transports: readonly string[] = [],
): RegistryDocument {
  const registry = buildRegistry(operations, describeBackend)
  return encodeRegistry(registry, now, { transports })
}
