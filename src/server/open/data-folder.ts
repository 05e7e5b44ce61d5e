/** The folder a server keeps everything in: the database, the objects, and the keys that sign links, seal secrets and administer. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../core/fault.ts'
import { readOrCreateAdminToken } from './admin-token.ts'
import { readOrCreateKey } from './key-file.ts'

export interface DataFolder {
  database: string
  objects: string
  linkKey: Uint8Array
  adminToken: string
  /** Made when it is first asked for: not every server has secrets to keep. */
  vaultKey(): Uint8Array
}

const WITHOUT_VAULT_KEY =
  'what the lost one sealed has to be removed (docs/guides/authorization.md, "The vault"), and people authorize again'

export function openDataFolder(folder: string): DataFolder {
  const using = <T>(use: () => T): T => {
    try {
      return use()
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault(
        'unavailable',
        `The data folder ${folder} cannot be used. Check that it can be written, or name another with --data.`,
        { code: 'DATA_FOLDER', cause },
      )
    }
  }
  return using(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return {
      database: join(folder, 'callplane.db'),
      objects: join(folder, 'objects'),
      linkKey: readOrCreateKey(join(folder, 'link.key'), 'links given out before stop working'),
      adminToken: readOrCreateAdminToken(folder),
      vaultKey: () => using(() => readOrCreateKey(join(folder, 'vault.key'), WITHOUT_VAULT_KEY)),
    }
  })
}
