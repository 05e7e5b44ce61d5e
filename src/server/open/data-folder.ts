/** The data folder of a server: the database, the objects, and the keys for links, secrets and administration. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../core/fault.ts'
import { readOrCreateAdminToken } from './admin-token.ts'
import { readOrCreateKey } from './key-file.ts'

export interface DataFolder {
  database: string
  objects: string
  adminToken: string
  /** Created at the first call, as the next: the options may have another. */
  linkKey(): Uint8Array
  vaultKey(): Uint8Array
}

const WITHOUT_VAULT_KEY =
  'then remove what the lost key sealed (docs/guides/authorization.md, "The vault"), and people must authorize again'

export function openDataFolder(folder: string): DataFolder {
  const using = <T>(use: () => T): T => {
    try {
      return use()
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault(
        'unavailable',
        `The data folder ${folder} cannot be used. Make it writable, or name another with --data.`,
        { code: 'DATA_FOLDER', cause },
      )
    }
  }
  return using(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return {
      database: join(folder, 'callplane.db'),
      objects: join(folder, 'objects'),
      adminToken: readOrCreateAdminToken(folder),
      linkKey: () => using(() => readOrCreateKey(join(folder, 'link.key'), 'existing links then stop working')),
      vaultKey: () => using(() => readOrCreateKey(join(folder, 'vault.key'), WITHOUT_VAULT_KEY)),
    }
  })
}
