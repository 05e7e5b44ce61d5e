/** The folder a server keeps everything in: the database, the objects, and the keys that sign links and seal secrets. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../core/fault.ts'

export interface DataFolder {
  database: string
  objects: string
  linkKey: Uint8Array
  /** Made when it is first asked for: not every server has secrets to keep. */
  vaultKey(): Uint8Array
}

export function openDataFolder(folder: string): DataFolder {
  const using = <T>(use: () => T): T => {
    try {
      return use()
    } catch (cause) {
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
      linkKey: readOrCreateKey(join(folder, 'link.key')),
      vaultKey: () => using(() => readOrCreateKey(join(folder, 'vault.key'))),
    }
  })
}

function readOrCreateKey(file: string): Uint8Array {
  try {
    writeFileSync(file, randomBytes(32), { flag: 'wx', mode: 0o600, flush: true })
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  }
  return readFileSync(file)
}
