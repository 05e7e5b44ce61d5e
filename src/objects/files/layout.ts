/**
 * Where things lie below the folder: `owners` holds what is stored, `unfinished` whatever is still being written or
 * taken away, so that tidying up after a crash looks at leftovers only, however much is stored.
 */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { Fault } from '../../core/fault.ts'
import type { KeepFresh } from './freshness.ts'

export interface Layout {
  readonly unfinished: string
  /** For paths that are being written. */
  readonly keepFresh: KeepFresh
  /** Holds folders that hold the owners' folders, which bear the owners' ids. */
  readonly owners: string
  ownerFolder(owner: string): string
  /** Nothing for an id that cannot exist. */
  find(id: string): Place | undefined
  /** For writing, where such an id is our own mistake. */
  place(id: string): Place
}

export interface Place {
  readonly ownerFolder: string
  readonly object: string
  readonly chunks: string
}

/** No `/`, no `.` and no `..`: joined to a folder it stays inside. */
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,200}$/
const PLAIN = /^[a-z0-9][a-z0-9._-]{0,99}$/

export function createLayout(folder: string, keepFresh: KeepFresh): Layout {
  const owners = join(folder, 'owners')

  function ownerFolder(owner: string): string {
    if (!SEGMENT.test(owner)) throw badId(owner)
    // 256 folders keep a million owners at about 4,000 a folder.
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

/** Names may come from callers, and `A` and `a` are one file on macOS: such names, and long ones, go by their hash. */
function fileName(name: string): string {
  return PLAIN.test(name) ? name : `=${hash('sha256', name).slice(0, 48)}`
}

function badId(id: string): Fault {
  return new Fault('internal', 'The server made up an object id that it cannot store; please report this.', {
    code: 'BAD_OBJECT_ID',
    developerMessage: `"${id.slice(0, 100)}" must be {owner}/{name}, each 1 to 200 of A-Z a-z 0-9 . _ ~ : - and not "." or "..".`,
  })
}
