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
  clock: Clock
}

interface OpenParts {
  env: Environment
  store: Store
  folder: DataFolder
  anonymous: boolean
}

/** In two steps, so that a wrong configuration is refused before anything is opened. */
export function prepareAuthorizations({ config, vault, clock }: AuthorizationSettings) {
  const clients = createOAuthClients(config, () => clock.now())
  const given = vault.key ?? process.env.CALLPLANE_VAULT_KEY
  const key = given === undefined ? undefined : parseVaultKey(given, 'The vault key')
  const old = (vault.oldKeys ?? []).map((each, at) => parseVaultKey(each, `vault.oldKeys[${at}]`))
  return {
    open({ env, store, folder, anonymous }: OpenParts): AuthorizationService {
      const current = key ?? parseVaultKey(folder.vaultKey(), 'The file vault.key in the data folder')
      return createAuthorizations(clients, { env, anonymous, vault: createVault(store.records, { current, old }) })
    },
  }
}
