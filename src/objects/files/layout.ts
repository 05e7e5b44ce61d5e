/**
 * The paths below the folder: `owners` has the stored objects, `unfinished` has everything that is being written or
 * removed. Cleaning up after a crash therefore looks at leftovers only, however much is stored.
 */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { findId, type ObjectId, parseId, parseOwner } from '../../platform/objects/ids.ts'
import type { KeepFresh } from './freshness.ts'

export interface Layout {
  readonly unfinished: string
  /** Keeps paths fresh while they are being written. */
  readonly keepFresh: KeepFresh
  /** Has folders that group the owners' folders, which are named by the owners' ids. */
  readonly owners: string
  ownerFolder(owner: string): string
  /** `undefined` for an id that cannot exist. */
  find(id: string): Place | undefined
  /** For writing. Throws for an id that cannot exist, because such an id is a bug of the server. */
  place(id: string): Place
}

export interface Place {
  readonly ownerFolder: string
  readonly object: string
  readonly chunks: string
}

const PLAIN = /^[a-z0-9][a-z0-9._-]{0,99}$/

export function createLayout(folder: string, keepFresh: KeepFresh): Layout {
  const owners = join(folder, 'owners')

  function ownerFolder(owner: string): string {
    // 256 folders hold a million owners with about 4,000 owners each.
    return join(owners, hash('sha256', owner).slice(0, 2), parseOwner(owner))
  }

  function placeOf({ owner, name }: ObjectId): Place {
    const parent = ownerFolder(owner)
    const path = join(parent, fileName(name))
    return { ownerFolder: parent, object: `${path}.object`, chunks: `${path}.chunks` }
  }

  function find(id: string): Place | undefined {
    const found = findId(id)
    return found && placeOf(found)
  }

  const place = (id: string) => placeOf(parseId(id))
  return { unfinished: join(folder, 'unfinished'), keepFresh, owners, ownerFolder, find, place }
}

/**
 * Names may come from callers, and `A` and `a` are the same file on macOS. Such names and long names are replaced by
 * their hash.
 */
function fileName(name: string): string {
  return PLAIN.test(name) ? name : `=${hash('sha256', name).slice(0, 48)}`
}
