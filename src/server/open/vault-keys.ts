/** The keys of the vault: from the options, or from the data folder. */
import { parseVaultKey, type VaultKeys } from '../../security/secrets/vault.ts'
import type { VaultOptions } from '../options/options.ts'
import type { DataFolder } from './data-folder.ts'

export function vaultKeys(vault: VaultOptions, folder: DataFolder): VaultKeys {
  return { current: currentKey(vault, folder), old: oldKeys(vault) }
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
