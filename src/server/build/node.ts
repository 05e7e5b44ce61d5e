import { ANONYMOUS, type Caller } from '../../core/caller.ts'
import type { Identify, Presented } from '../../core/ports/guard.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { SCOPES } from '../../core/scopes.ts'
import { isOurs } from '../../engine/admin/operations.ts'
import { createCalls } from '../../engine/calls.ts'
import { Engine } from '../../engine/engine.ts'
import { FollowUp } from '../../engine/follow/follow-up.ts'
import { Maintenance } from '../../engine/follow/maintenance.ts'
import { createWaiters } from '../../engine/follow/waiters.ts'
import { DEFAULT_LIMITS, Limits } from '../../engine/limits/limits.ts'
import { createFileObjects } from '../../objects/files/index.ts'
import { contractCode, contractWords } from '../../protocols/contract/index.ts'
import type { Authenticator } from '../../security/identity/identify.ts'
import { createFetcher } from '../../security/outbound/fetcher.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import { combineObservers, createExecutionLog, createMetrics, loadTracing } from '../../telemetry/index.ts'
import { createAdminRecognition, type RecognizeAdmin } from '../open/admin-token.ts'
import { type DataFolder, openDataFolder } from '../open/data-folder.ts'
import { vaultKeys } from '../open/vault-keys.ts'
import { DEFAULT_WORK, type ServerOptions } from '../options/options.ts'
import type { WorkerLink } from '../workers/link.ts'
import { createEnvironment } from './environment.ts'
import { openSecrets } from './governing.ts'
import type { Prepared } from './prepare.ts'
import { createResultCache } from './result-cache.ts'

/** Without authentication everybody on this machine is the same caller, and may do and see everything but administer. */
const LOCAL: Caller = { ...ANONYMOUS, scopes: ['*', SCOPES.metrics] }
/** A cancel is answered at once by the process that runs the call; another node learns of it when it renews its leases. */
const CANCEL_WAIT_MS = 10_000
const TIDY_EVERY_MS = 5_000
const AUDIT_DAYS = 90

export type Node = Awaited<ReturnType<typeof openNode>>

/** The engine on its storage, with everything that follows up on calls. */
export async function openNode<App>(options: ServerOptions<App>, prepared: Prepared, link?: WorkerLink) {
  const { clock, registry, authenticator, inject, redactor, log, sizes, remote, guards, own, announcements } = prepared
  const folder = openDataFolder(options.data ?? '.callplane')
  const authorization = await loadAuthorizations(options, folder, clock)
  const metrics = createMetrics({ codeOf: contractCode })
  const tracing = await loadTracing({ redact: redactor.redact, words: contractWords })
  const executions = showsInfo(options.log)
    ? createExecutionLog({ log, words: contractWords, unrecorded: options.executionLog ?? true })
    : undefined
  const observers = combineObservers(metrics, tracing, executions)
  const observer = announcements ? announcements.observing(observers) : observers
  const outbox = announcements?.outbox
  const env = createEnvironment(log, folder.linkKey, clock, redactor)
  const files = options.objects ? undefined : createFileObjects({ folder: folder.objects, clock })
  const objects = options.objects ?? (files as NonNullable<typeof files>)
  const limits = new Limits({ ...DEFAULT_LIMITS, ...options.limits }, clock, link?.limits)
  const store =
    options.store ?? (await openStore(folder.database, { clock, log, acceptLoss: options.acceptLoss ?? false }, link))
  const authorizations = authorization?.open({ env, store, anonymous: authenticator === undefined })
  const { secrets, credentials, shown } = openSecrets({
    places: options.secrets,
    tokenEndpoints: options.tokenEndpoints,
    vaultKeys: () => vaultKeys(options.vault ?? {}, folder),
    store,
    remote,
    clock,
  })
  const work = { ...DEFAULT_WORK, ...options.work }
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
    work,
    chunkBytes: sizes.chunkBytes,
    maxObjectBytes: sizes.objectBytes,
    stopGraceMs: work.stopGraceMs,
    ...(link && { siblings: link.siblings }),
    ...(authorizations && { authorizations }),
    ...(observer && { observer }),
    ...(outbox && { outbox }),
    // Ours run for whoever administers, whom the application may not know.
    ...(inject && { inject: (job) => (isOurs(job.operation) ? {} : inject(job)) }),
  })
  const { worker, approvals } = engine
  link?.connect(worker)
  own.connect({ approvals, worker, store, clock })
  const identify = identifyBy(authenticator, createAdminRecognition(folder.adminToken, options.auth?.tenant))
  const auditMs = (options.audit?.keepDays ?? AUDIT_DAYS) * 86_400_000
  const followUp = new FollowUp({ env, registry, store, objects, limits, worker, cancelWaitMs: CANCEL_WAIT_MS })
  const calls = createCalls({
    engine,
    followUp,
    env,
    waiters: createWaiters(link && ((here) => link.anyoneElse('waits', here))),
    ...(authorizations && { authorizations }),
  })
  const maintenance = new Maintenance({
    env,
    registry,
    store,
    objects,
    limits,
    worker,
    everyMs: TIDY_EVERY_MS,
    auditMs,
    countsOnly: !keepsHouse(link),
    ...(files && { sweepUnfinished: files.sweep }),
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
    calls,
    maintenance,
    identify,
    renderMetrics: link ? link.metrics(() => metrics.render()) : () => metrics.render(),
    /** Operations of which a call was left running while an agent waited for it. */
    overran: link?.sharedSet('overran') ?? new Set<string>(),
  }
}

/** Of several worker processes the first one does what is to be done once. */
export function keepsHouse(link: WorkerLink | undefined): boolean {
  return link === undefined || link.number === 1
}

async function openStore(
  file: string,
  options: { clock: Clock; log: Log; acceptLoss: boolean },
  link: WorkerLink | undefined,
): Promise<Store> {
  return link ? link.openStore(file, options.log, options.acceptLoss) : createSqliteStore({ file, ...options })
}

/** Who sent this, as what it presents says. */
function identifyBy(authenticator: Authenticator | undefined, recognizeAdmin: RecognizeAdmin) {
  return (source: Presented): Identify => {
    const header = (name: string) => source.header(name)
    if (!authenticator) return () => recognizeAdmin(header) ?? LOCAL
    return () => recognizeAdmin(header) ?? authenticator.authenticate(header, source.auth)
  }
}

/** Loaded when it is used: most servers have no providers. */
async function loadAuthorizations(
  { authorization: config, vault = {} }: Pick<ServerOptions, 'authorization' | 'vault'>,
  folder: DataFolder,
  clock: Clock,
) {
  if (!config) return undefined
  const { prepareAuthorizations } = await import('../mount/authorizations.ts')
  return prepareAuthorizations({ config, vault, folder, clock })
}

/** Of a log that is the application's own, it cannot be told. */
function showsInfo(log: ServerOptions['log']): boolean {
  return typeof log === 'object' || log === 'info' || log === 'debug'
}
