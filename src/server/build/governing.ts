/** Builds what governs calls and what authenticates us to remote tools: the policy, the secrets and their vault. */
import type { Operation } from '../../core/operation/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Environment, Log } from '../../core/ports/runtime.ts'
import type { Credentials, Sealer, SecretSource, Shown } from '../../core/ports/secrets.ts'
import type { Store } from '../../core/ports/store.ts'
import type { AuthorizationService } from '../../security/consent/authorizations.ts'
import { createCredentials } from '../../security/credentials/credentials.ts'
import { SharedTokens } from '../../security/credentials/shared-tokens.ts'
import type { TokenEndpointRules } from '../../security/credentials/token-endpoint-rules.ts'
import { type IsolationRules, isolationGuard, type Placed, wantOfIsolation } from '../../security/policy/isolation.ts'
import type { PolicyDefinition } from '../../security/policy/policy.ts'
import { createSecrets, DEFAULT_PLACES, type SecretPlace } from '../../security/secrets/secrets.ts'
import { createShown } from '../../security/secrets/shown.ts'
import { createSecretStore } from '../../security/secrets/store.ts'
import { createSealer, createVault, type Vault, type VaultKeys } from '../../security/secrets/vault.ts'
import type { ToolImport } from '../declarations/index.ts'
import type { DataFolder } from '../open/data-folder.ts'
import type { ServerOptions } from '../options/options.ts'
import type { Base } from './base.ts'

export interface SecretSettings {
  places: readonly SecretPlace[] | undefined
  tokenEndpoints: Readonly<Record<string, TokenEndpointRules>> | undefined
  store: Store
  /** Called at the first lookup of a secret, so that servers without secrets create no key. */
  vaultKeys: () => VaultKeys
  remote: RemoteClient
  env: Pick<Environment, 'clock' | 'log' | 'newId'>
  /** True if other processes use the same store. */
  shared: boolean
}

export interface OpenSecrets {
  secrets: SecretSource
  credentials: Credentials
  shown: Shown
  sealer: Sealer
}

/** Secrets, credentials for tools, and people's authorizations, as calls use them. */
export interface Keys extends OpenSecrets {
  /** Absent if no provider is configured. */
  authorizations: AuthorizationService | undefined
}

/**
 * Loaded on first use: most servers have no providers. An invalid configuration is refused before the store is opened.
 */
export async function loadAuthorizations(
  { authorization: config, vault = {} }: Pick<ServerOptions, 'authorization' | 'vault'>,
  folder: DataFolder,
  { clock, remote, redactor }: Pick<Base, 'clock' | 'remote' | 'redactor'>,
) {
  if (!config) return undefined
  const { prepareAuthorizations } = await import('../mount/authorizations.ts')
  return prepareAuthorizations({ config, vault, folder, clock, remote, redactor })
}

export function openSecrets(settings: SecretSettings): OpenSecrets {
  const { places = DEFAULT_PLACES, store, vaultKeys, remote, env, shared, tokenEndpoints } = settings
  let opened: Vault | undefined
  let sealing: Sealer | undefined
  const vault = () => (opened ??= createVault(store.records, vaultKeys()))
  const sealer = () => (sealing ??= createSealer(vaultKeys()))
  const secrets = createSecrets(places, {
    env: process.env,
    folder: process.cwd(),
    store: () => createSecretStore(store.records, vault()),
  })
  const credentials = createCredentials({
    secrets,
    remote,
    clock: env.clock,
    ...(tokenEndpoints && { tokenEndpoints }),
    ...(shared && { sharedTokens: new SharedTokens({ ...env, vault }) }),
  })
  return {
    secrets,
    credentials,
    shown: createShown(vault),
    sealer: { seal: (...value) => sealer().seal(...value), open: (...value) => sealer().open(...value) },
  }
}

/**
 * Loaded on first use: most servers on a laptop have no policy. High-risk operations need a sandbox even without one.
 */
export async function loadPolicyGuard(
  given: string | PolicyDefinition | undefined,
  operations: readonly Operation[],
  imports: readonly ToolImport[],
  log: Log,
): Promise<Guard> {
  const placed = [...operations, ...imports.map(toolsOf)]
  if (given === undefined) {
    warnOfHarm(placed, log)
    return isolationGuard
  }
  const { checkOperations, createPolicyGuard } = await import('../../security/policy/guard.ts')
  const policy = await readPolicy(given)
  for (const warning of checkOperations(policy, operations)) log.warn({ policy: policy.name }, warning)
  warnOfHarm(placed, log, policy)
  return createPolicyGuard(policy)
}

/** Warns at start-up, so that the operator does not learn of it from the first refused call. */
function warnOfHarm(placed: readonly Placed[], log: Log, rules?: IsolationRules): void {
  for (const one of placed) {
    const refusal = wantOfIsolation(one, rules)
    if (!refusal) continue
    log.warn({ operation: one.name.full, problem: refusal.reason }, 'calls of an operation will be refused')
  }
}

/** The tools are known only once their server is connected, but their backend is known now. */
function toolsOf({ kind, major, namespace, rules }: ToolImport): Placed {
  return { name: { full: `v${major}:${namespace}.*` }, risk: rules.risk ?? 'low', backend: { kind } }
}

async function readPolicy(given: string | PolicyDefinition) {
  if (typeof given === 'string') return (await import('../../security/policy/file.ts')).loadPolicy(given)
  return (await import('../../security/policy/parse.ts')).parsePolicy(given)
}
