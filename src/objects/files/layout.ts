/**
 * The paths below the folder: `owners` has the stored objects, `unfinished` has everything that is being written or
 * removed. Cleaning up after a crash therefore looks at leftovers only, however much is stored.
 */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { Fault } from '../../core/fault.ts'
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

/** Without `/`, and not `.` or `..`, so that the path stays inside the folder it is joined to. */
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,200}$/
const PLAIN = /^[a-z0-9][a-z0-9._-]{0,99}$/

export function createLayout(folder: string, keepFresh: KeepFresh): Layout {
  const owners = join(folder, 'owners')

  function ownerFolder(owner: string): string {
    if (!SEGMENT.test(owner)) throw badId(owner)
    // 256 folders hold a million owners with about 4,000 owners each.
    return join(owners, hash('sha256', owner).slice(0, 2), owner)
  }

  function find(id: string): Place | undefined {
    const slash = id.indexOf('/')
    const owner = id.slice(0, slash)
    const name = id.slice(slash + 1)
    if (slash < 0 || !SEGMENT.test(owner) || !SEGMENT.test(name)) return undefined
    const parent = ownerFolder(owner)
    const path = join(parent, fileName(name))
    return { ownerFolder: parent, object: `${path}.object`, chunks: `${path}.chunks` }
  }

  function place(id: string): Place {
    const found = find(id)
    if (!found) throw badId(id)
    return found
  }

  return { unfinished: join(folder, 'unfinished'), keepFresh, owners, ownerFolder, find, place }
}

/**
 * Names may come from callers, and `A` and `a` are the same file on macOS. Such names and long names are replaced by
 * their hash.
 */
function fileName(name: string): string {
  return PLAIN.test(name) ? name : `=${hash('sha256', name).slice(0, 48)}`
}

function badId(id: string): Fault {
  return new Fault('internal', 'The server generated an object id that it cannot store; please report this.', {
    code: 'BAD_OBJECT_ID',
    developerMessage: `"${id.slice(0, 100)}" must be {owner}/{name}, each 1 to 200 of A-Z a-z 0-9 . _ ~ : - and not "." or "..".`,
  })
}
