/** Puts together what people's authorizations need: the providers, the vault and its key. */
import type { Clock, Environment, Store } from '../core/ports.ts'
import { type AuthorizationService, createAuthorizations } from '../governance/authorizations.ts'
import { createOAuthClients } from '../governance/oauth.ts'
import type { AuthorizationConfig } from '../governance/oauth-provider.ts'
import { createVault } from '../governance/vault.ts'
import type { DataFolder } from './data-folder.ts'
import type { VaultOptions } from './options.ts'
import { vaultKeys } from './vault-keys.ts'

export interface AuthorizationSettings {
  config: AuthorizationConfig
  vault: VaultOptions
  folder: DataFolder
  clock: Clock
}

interface OpenParts {
  env: Environment
  store: Store
  anonymous: boolean
}

/** In two steps, so that a wrong configuration is refused before the store is opened. */
export function prepareAuthorizations({ config, vault, folder, clock }: AuthorizationSettings) {
  const clients = createOAuthClients(config, () => clock.now())
  const keys = vaultKeys(vault, folder)
  return {
    open: ({ env, store, anonymous }: OpenParts): AuthorizationService =>
      createAuthorizations(clients, { env, anonymous, vault: createVault(store.records, keys) }),
  }
}
