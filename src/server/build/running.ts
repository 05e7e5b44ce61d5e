/** Creates the engine on its storage, with the worker, follow-up and maintenance. */
import type { Calls } from '../../core/ports/calls.ts'
import type { StreamTransports } from '../../core/ports/frames.ts'
import type { Peers } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { isOurs } from '../../engine/admin/operations.ts'
import { createCalls } from '../../engine/calls.ts'
import { ChangeFeed } from '../../engine/changes/change-feed.ts'
import { SharedChanges } from '../../engine/changes/shared-changes.ts'
import { Engine } from '../../engine/engine.ts'
import { FollowUp } from '../../engine/follow/follow-up.ts'
import { Maintenance } from '../../engine/follow/maintenance.ts'
import { createWaiters } from '../../engine/follow/waiters.ts'
import { DEFAULT_LIMITS } from '../../engine/limits/limit-rules.ts'
import { Limits } from '../../engine/limits/limits.ts'
import { Samples, Sampling } from '../../engine/metrics/samples.ts'
import { LateSending } from '../../engine/owed/late-replies.ts'
import { createFetcher } from '../../security/outbound/fetcher.ts'
import { DEFAULT_WORK, type ServerOptions, type Sizes } from '../options/options.ts'
import type { WorkerLink } from '../workers/link.ts'
import type { AboutServer } from './about-server.ts'
import type { Access } from './access.ts'
import { createInjector } from './context-source.ts'
import { faultTable } from './fault-table.ts'
import type { Keys } from './governing.ts'
import { createMeasuring } from './measuring.ts'
import type { Observing } from './observing.ts'
import type { Offer, Own } from './offer.ts'
import { tellAboutServer } from './own-parts.ts'
import { createResultCache } from './result-cache.ts'
import type { Storage } from './storage.ts'

/** The process that runs the call confirms a cancel at once; another node learns of it when it renews its leases. */
const CANCEL_WAIT_MS = 10_000
const TIDY_EVERY_MS = 5_000
const AUDIT_DAYS = 90
const DEAD_LETTER_DAYS = 14

export interface Running {
  engine: Engine
  calls: Calls
  limits: Limits
  maintenance: Maintenance
  lateReplies: LateSending
  /** Changes for operators who wait, and samples of the load. */
  changes: {
    start(): Promise<void>
    /** Answers the requests that wait. */
    release(): void
    /** After the last call has ended, so that other processes hear of it. */
    stop(): Promise<void>
  }
}

interface RunningParts {
  env: Environment
  offer: Offer
  own: Own
  access: Access
  storage: Storage
  keys: Keys
  observing: Observing
  sizes: Sizes
  transports: StreamTransports
  about: AboutServer
}

export function createRunning<App>(options: ServerOptions<App>, parts: RunningParts, link?: WorkerLink): Running {
  const { env, own, sizes, about } = parts
  const { registry } = parts.offer
  const { store, objects, sweepUnfinished } = parts.storage
  const { credentials, shown, sealer, authorizations } = parts.keys
  const peers = peersOf(store, link)
  const pipes = store.peers?.pipes ?? link?.pipes
  const limits = new Limits({ ...DEFAULT_LIMITS, ...options.limits }, env.clock, peers?.limits)
  const deadLetterMs = (options.deadLetters?.keepDays ?? DEAD_LETTER_DAYS) * 86_400_000
  const work = { ...DEFAULT_WORK, deadLetterMs, ...options.work }
  const inject = createInjector(options.context)
  const observer = own.announcements ? own.announcements.observing(parts.observing.observer) : parts.observing.observer
  const outbox = own.announcements?.outbox
  const engine = new Engine({
    env,
    registry,
    store,
    objects,
    limits,
    transports: parts.transports,
    fetcher: createFetcher(options.references ?? {}),
    guards: parts.access.guards,
    credentials,
    shown,
    sealer,
    cache: createResultCache(env.clock),
    work,
    chunkBytes: sizes.chunkBytes,
    maxObjectBytes: sizes.objectBytes,
    stopGraceMs: work.stopGraceMs,
    ...(peers && { siblings: peers.siblings }),
    ...(pipes && { pipes }),
    ...(authorizations && { authorizations }),
    ...(observer && { observer }),
    ...(outbox && { outbox }),
    // The server's own operations run for administrators, whom the application may not know.
    ...(inject && { inject: (job) => (isOurs(job.operation) ? {} : inject(job)) }),
  })
  const { worker, approvals } = engine
  link?.connect(worker)
  if (store.nodeEnds) link?.takeOver(store.nodeEnds)
  peers?.siblings.listen((id, why) => void worker.stopAttempt(id, why))
  about.connect({ engine, limits })
  const alone = async () => [
    { node: 1, ...(store.schema !== undefined && { schema: store.schema }), facts: about.facts() },
  ]
  const nodes = store.nodes ?? link?.nodes(() => about.facts()) ?? alone
  const shared = { env, registry, store, objects, limits, worker }
  const followUp = new FollowUp({ ...shared, cancelWaitMs: CANCEL_WAIT_MS })
  const node = env.newId()
  const feed = new ChangeFeed({ clock: env.clock, store, approvals, node })
  const { log } = env
  const sharedChanges =
    peers && new SharedChanges({ clock: env.clock, log, records: store.records, feed, node, siblings: peers.siblings })
  const { observing, transports } = parts
  const samples = new Samples(store.records)
  let number = link?.number ?? 1
  // A node that others took for dead gets another number.
  store.nodeEnds?.tellNumber((given) => {
    number = given
  })
  const measured = createMeasuring({ about, limits, observing, node: () => number })
  const sampling = new Sampling({ clock: env.clock, log, samples, measured, writer: node })
  own.administration.connect({
    ...tellAboutServer(options, { about, registry, observing, transports, now: () => env.clock.now() }),
    faults: faultTable,
    approvals,
    checking: engine.checking,
    replaying: engine.replaying,
    changes: feed,
    samples,
    stopCall: (instance) => followUp.stop(instance),
    log: env.log,
    worker,
    store,
    clock: env.clock,
    env,
    registry,
    nodes,
  })
  own.unsubscribe?.connect(followUp)
  const calls = createCalls({
    engine,
    followUp,
    env,
    waiters: createWaiters(peers && ((here) => peers.siblings.anyoneElse('waits', here))),
    ...(authorizations && { authorizations }),
  })
  const maintenance = new Maintenance({
    ...shared,
    everyMs: TIDY_EVERY_MS,
    auditMs: (options.audit?.keepDays ?? AUDIT_DAYS) * 86_400_000,
    ...(sweepUnfinished && { sweepUnfinished }),
  })
  const lateReplies = new LateSending({ env, store, owed: engine.owed })
  const changes = {
    async start() {
      await sharedChanges?.start()
      sampling.start()
    },
    release: () => feed.release(),
    async stop() {
      await sharedChanges?.stop()
      await sampling.stop()
      measured[Symbol.dispose]()
      feed.stop()
    },
  }
  return { engine, calls, limits, maintenance, lateReplies, changes }
}

/** A store that several nodes share connects the workers of one server, too. Otherwise their hub does. */
export function peersOf(store: Store, link: WorkerLink | undefined): Peers | undefined {
  return store.peers ?? link
}

/** True for the one process that does maintenance: the first of several workers. */
export function keepsHouse(link: WorkerLink | undefined): boolean {
  return link === undefined || link.number === 1
}
