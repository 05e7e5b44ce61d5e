/** Object ids, `{owner}/{name}`, and the faults that all object stores have in common. */
import { Fault } from '../../core/fault.ts'

export interface ObjectId {
  owner: string
  name: string
}

/** Without `/`, and not `.` or `..`, so that a path or a key made from it stays below the one it is joined to. */
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,200}$/

/** `undefined` for an id that cannot exist. */
export function findId(id: string): ObjectId | undefined {
  const slash = id.indexOf('/')
  const [owner, name] = [id.slice(0, slash), id.slice(slash + 1)]
  return slash >= 0 && SEGMENT.test(owner) && SEGMENT.test(name) ? { owner, name } : undefined
}

/** For writing. Throws for an id that cannot exist, because such an id is a bug of the server. */
export function parseId(id: string): ObjectId {
  const found = findId(id)
  if (!found) throw badId(id)
  return found
}

export function parseOwner(owner: string): string {
  if (!SEGMENT.test(owner)) throw badId(owner)
  return owner
}

function badId(id: string): Fault {
  return new Fault('internal', 'The server generated an object id that it cannot store; please report this.', {
    code: 'BAD_OBJECT_ID',
    developerMessage: `"${id.slice(0, 100)}" must be {owner}/{name}, each 1 to 200 of A-Z a-z 0-9 . _ ~ : - and not "." or "..".`,
  })
}

export function noSuchObject(): Fault {
  return new Fault('not-found', 'There is no such object, or it has expired; run the call again.')
}

export function tooLarge(maxBytes: number): Fault {
  return new Fault('invalid-input', `The file is larger than the ${maxBytes} bytes allowed here; send a smaller one.`, {
    code: 'MEDIA_TOO_LARGE',
    details: { maxBytes },
  })
}

export function damaged(cause?: unknown): Fault {
  return new Fault('internal', 'A stored file is damaged; run the call again to recreate it.', {
    code: 'OBJECT_DAMAGED',
    ...(cause !== undefined && { cause }),
  })
}
