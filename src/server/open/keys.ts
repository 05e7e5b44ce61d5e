/** The keys of the vault and of signed links: from the options, the environment, or the data folder. */
import { parseVaultKey, type VaultKeys } from '../../security/secrets/vault.ts'
import type { LinkKeys } from '../build/environment.ts'
import type { KeyOptions } from '../options/options.ts'
import type { DataFolder } from './data-folder.ts'

export function vaultKeys(vault: KeyOptions, folder: DataFolder): Required<VaultKeys> {
  return chosen('vault', vault, 'CALLPLANE_VAULT_KEY', folder.vaultKey)
}

export function linkKeys(links: KeyOptions, folder: DataFolder): LinkKeys {
  return chosen('links', links, 'CALLPLANE_LINK_KEY', folder.linkKey)
}

function chosen(option: string, { key, oldKeys = [] }: KeyOptions, variable: string, fromFile: () => Uint8Array) {
  const fromEnvironment = process.env[variable]
  const current =
    key !== undefined
      ? parseVaultKey(key, `${option}.key`)
      : fromEnvironment !== undefined
        ? parseVaultKey(fromEnvironment, variable)
        : fromFile()
  return { current, old: oldKeys.map((old, at) => parseVaultKey(old, `${option}.oldKeys[${at}]`)) }
}
