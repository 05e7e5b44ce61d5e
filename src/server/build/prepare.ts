import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import { createOwnOperations, refuseOwnNames } from '../../engine/admin/operations.ts'
import type { Registry } from '../../engine/registry.ts'
import { createTools } from '../../engine/tools.ts'
import type { AuthConfig, Authenticator } from '../../security/identity/identify.ts'
import { scopesGuard } from '../../security/identity/scope-guard.ts'
import { createRemoteClient } from '../../security/outbound/remote-client.ts'
import { createRedactor } from '../../security/redaction/redaction.ts'
import { createSigner } from '../../security/signatures.ts'
import { createLog } from '../../telemetry/index.ts'
import { Announcements } from '../announcements/announcements.ts'
import { nodeTooOld } from '../open/node-version.ts'
import { bareNames } from '../options/bare-names.ts'
import { checkOptions } from '../options/check-options.ts'
import { warnOfLeftOut } from '../options/left-out.ts'
import { DEFAULT_SIZES, DEFAULT_TOOLKIT, type ServerOptions } from '../options/options.ts'
import { loadBackends } from './backends.ts'
import { createInjector } from './context-source.ts'
import { systemClock } from './environment.ts'
import { loadPolicyGuard } from './governing.ts'
import { prepareImports } from './imports.ts'
import { buildRegistry } from './operations.ts'

export type Prepared = Awaited<ReturnType<typeof prepare>>
/** Whatever can be refused without opening anything. */
export async function prepare<App>(options: ServerOptions<App>, worker?: number) {
  requireNode()
  checkOptions(options)
  const clock = options.clock ?? systemClock
  const redactor = createRedactor()
  const log = chooseLog(options, redactor, worker)
  const remote = createRemoteClient()
  refuseOwnNames(options.operations)
  const definitions = options.operations.flatMap((entry) => ('removed' in entry ? [] : [entry]))
  const own = createOwnOperations()
  const announcements = options.announce && new Announcements(options.announce)
  const ours = [...own.definitions, ...(announcements ? [announcements.definition] : [])]
  const backendParts = { clock, log, remote, lookup: remote.lookup, folder: process.cwd() }
  const backends = await loadBackends(definitions, backendParts)
  const imports = await prepareImports(options.imports)
  const registry = buildRegistry([...options.operations, ...ours], backends.create, log)
  const declared = imports.map((prepared) => prepared.declared)
  const policy = await loadPolicyGuard(options.policy, operationsIn(registry), declared, log)
  const announced = announcements ? [announcements.guard] : []
  const guards = [scopesGuard, ...announced, policy, ...(options.guards ?? [])]
  const isBare = bareNames(options.tools ?? {}, registry, imports.length > 0)
  const tools = createTools(registry, options.toolkit ?? DEFAULT_TOOLKIT, isTool, warnOfLeftOut(log), isBare)
  const authenticator = options.auth && (await loadAuthenticator(options.auth, clock))
  const signer = options.signing && createSigner(options.signing, clock)
  const sizes = { ...DEFAULT_SIZES, ...options.sizes }
  return {
    clock,
    registry,
    tools,
    isBare,
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

function requireNode(): void {
  const reason = nodeTooOld(process.versions.node)
  if (reason !== undefined) throw new Fault('malformed', reason, { code: 'NODE_TOO_OLD' })
}

function operationsIn(registry: Registry): Operation[] {
  return registry.keys.flatMap((key) => registry.byKey(key) ?? [])
}

/** Loaded when it is used: what verifies JWTs takes 40 ms and 16 MB. */
async function loadAuthenticator(auth: AuthConfig, clock: Clock): Promise<Authenticator> {
  const { createAuthenticator } = await import('../../security/identity/identify.ts')
  return createAuthenticator(auth, clock)
}

function chooseLog(
  { log = 'silent', logTo }: Pick<ServerOptions, 'log' | 'logTo'>,
  redactor: ReturnType<typeof createRedactor>,
  worker: number | undefined,
): Log {
  const chosen =
    typeof log === 'object' ? log : createLog({ level: log, redactor, ...(logTo && { destination: logTo }) })
  // Of several processes that write to one place, each line says which it is from.
  return worker === undefined ? chosen : chosen.child({ worker })
}

/** Tools take and give JSON: what cannot run without an attachment is none. What administers is not for models. */
function isTool({ media, internal }: Operation): boolean {
  return !internal && !media.some((slot) => slot.required)
}
