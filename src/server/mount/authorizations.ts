/** Builds what people's authorizations need: the providers, the vault and its key. */
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { type AuthorizationService, createAuthorizations } from '../../security/consent/authorizations.ts'
import { createOAuthClients } from '../../security/consent/oauth.ts'
import type { AuthorizationConfig } from '../../security/consent/provider.ts'
import type { Redactor } from '../../security/redaction/redaction.ts'
import { createVault } from '../../security/secrets/vault.ts'
import type { DataFolder } from '../open/data-folder.ts'
import { vaultKeys } from '../open/keys.ts'
import type { KeyOptions } from '../options/options.ts'

export interface AuthorizationSettings {
  config: AuthorizationConfig
  vault: KeyOptions
  folder: DataFolder
  clock: Clock
  remote: RemoteClient
  redactor: Pick<Redactor, 'add'>
}

export interface OpenParts {
  env: Environment
  store: Store
  anonymous: boolean
}

/** Two steps, so that an invalid configuration is refused before the store is opened. */
export function prepareAuthorizations({ config, vault, folder, clock, remote, redactor }: AuthorizationSettings) {
  const clients = createOAuthClients(config, { now: () => clock.now(), remote, conceal: redactor.add })
  const keys = vaultKeys(vault, folder)
  return {
    open: ({ env, store, anonymous }: OpenParts): AuthorizationService =>
      createAuthorizations(clients, { env, anonymous, vault: createVault(store.records, keys) }),
  }
}
