/** The folder a server keeps everything in: the database, the objects and the key that signs links. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../core/fault.ts'

export interface DataFolder {
  database: string
  objects: string
  linkKey: Uint8Array
}

export function openDataFolder(folder: string): DataFolder {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return {
      database: join(folder, 'callplane.db'),
      objects: join(folder, 'objects'),
      linkKey: readOrCreateKey(join(folder, 'link.key')),
    }
  } catch (cause) {
    throw new Fault(
      'unavailable',
      `The data folder ${folder} cannot be used. Check that it can be written, or name another with --data.`,
      {
        code: 'DATA_FOLDER',
        cause,
      },
    )
  }
}

function readOrCreateKey(file: string): Uint8Array {
  try {
    writeFileSync(file, randomBytes(32), { flag: 'wx', mode: 0o600 })
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  }
  return readFileSync(file)
}
