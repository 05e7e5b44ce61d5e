/** The data folder: its keys, who may read them, and the space on its disk. */
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, fine, problem, warning } from '../../core/finding.ts'

const KEYS = ['link.key', 'vault.key', 'admin.token', 'callplane.db']
const SCARCE_BYTES = 1_000_000_000
const NONE_BYTES = 100_000_000

export async function examineFolder({ data, url }: { data: string; url?: string }): Promise<readonly Finding[]> {
  const isShared = url !== undefined
  if (!existsSync(data)) {
    const what = `There is no data folder ${data}. A start creates it with new keys.`
    return isShared
      ? [warning('keys', what, 'Copy link.key and vault.key from another server of this database, if there is one.')]
      : [fine('folder', what)]
  }
  const found = [...examineAccess(data), ...examineKeys(data, isShared), ...examineSpace(data)]
  return found.length > 0 ? found : [fine('folder', `The data folder ${data} is private and has space.`)]
}

function* examineAccess(data: string): Iterable<Finding> {
  try {
    accessSync(data, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    yield problem(
      'folder',
      `This user may not write to ${data}.`,
      'Run this as the user of the server, or change the owner.',
    )
  }
}

function* examineKeys(data: string, isShared: boolean): Iterable<Finding> {
  // Windows has no such modes.
  const isOpen = (path: string) => process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
  const closed = !isOpen(data)
  for (const name of readdirSync(data).filter((name) => KEYS.includes(name))) {
    const path = join(data, name)
    // In a folder that others cannot enter, they cannot read it either. A copy elsewhere keeps the mode, though.
    if (isOpen(path) && !closed)
      yield problem(
        'keys',
        `Other users of this machine may read ${path}.`,
        `Run: chmod 600 ${path}, and replace it if another user has read it.`,
      )
  }
  if (isShared && !existsSync(join(data, 'link.key')))
    yield warning(
      'keys',
      `${data} has no link.key. A start creates a new one.`,
      'Copy it from another server of this database, if there is one.',
    )
}

function* examineSpace(data: string): Iterable<Finding> {
  const { bavail, bsize } = statfsSync(data)
  const bytes = bavail * bsize
  const what = `The disk of ${data} has ${Math.floor(bytes / 1_000_000)} MB left.`
  if (bytes < NONE_BYTES) yield problem('disk', what, 'Free some space.')
  else if (bytes < SCARCE_BYTES) yield warning('disk', what, 'Free some space.')
}
