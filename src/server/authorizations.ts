/** Puts together what people's authorizations need: the providers, the vault and its key. */
import type { Clock, Environment, Store } from '../core/ports.ts'
import { type AuthorizationService, createAuthorizations } from '../governance/authorizations.ts'
import { createOAuthClients } from '../governance/oauth.ts'
import type { AuthorizationConfig } from '../governance/oauth-provider.ts'
import { createVault, parseVaultKey } from '../governance/vault.ts'
import type { DataFolder } from './data-folder.ts'
import type { VaultOptions } from './options.ts'

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
  const keys = { current: currentKey(vault, folder), old: oldKeys(vault) }
  return {
    open: ({ env, store, anonymous }: OpenParts): AuthorizationService =>
      createAuthorizations(clients, { env, anonymous, vault: createVault(store.records, keys) }),
  }
}

function currentKey({ key }: VaultOptions, folder: DataFolder): Uint8Array {
  if (key !== undefined) return parseVaultKey(key, 'vault.key')
  const { CALLPLANE_VAULT_KEY: fromEnvironment } = process.env
  if (fromEnvironment !== undefined) return parseVaultKey(fromEnvironment, 'CALLPLANE_VAULT_KEY')
  return folder.vaultKey()
}

function oldKeys({ oldKeys: keys = [] }: VaultOptions): Uint8Array[] {
  return keys.map((key, at) => parseVaultKey(key, `vault.oldKeys[${at}]`))
}
