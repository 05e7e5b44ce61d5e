/** What the two kinds of declaration have in common: faults of others told at the line they are about. */
import { Fault } from '../../core/fault.ts'
import type { BackendKind, BackendTraits } from '../../core/ports/backend.ts'
import { type Located, placeAt } from './located.ts'
import type { Place, Problems } from './problems.ts'

/** By kind: what a backend says about itself, and what checks its settings. */
export type BackendChecks = Readonly<Record<string, Pick<BackendKind, 'parse'> & { traits: BackendTraits }>>

export interface Source {
  /** Paths in a declaration are relative to it. */
  readonly folder: string
  readonly checks: BackendChecks
  readonly problems: Problems
}

/** What `check` returns, or nothing and a problem at the place of the field that its fault names. */
export function attempt<T>(entry: Located, problems: Problems, check: () => T): T | undefined {
  try {
    return check()
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    problems.add(placeNamedBy(thrown, entry), thrown.message)
    return undefined
  }
}

/** A schema's fault has a pointer; that of a backend's settings starts with the field: `backend.endpoint is missing`. */
function placeNamedBy({ details, message }: Fault, entry: Located): Place {
  if (typeof details?.side === 'string' && typeof details.path === 'string') {
    const pointer = details.path.split('/').slice(1)
    const keys = pointer.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    return placeAt(entry, [details.side, ...keys])
  }
  const [field = ''] = /^[\w$-]+(?:\.[\w$-]+|\[\d+\])*/.exec(message) ?? []
  return placeAt(
    entry,
    field.split(/[.[\]]+/).filter((key) => key !== ''),
  )
}
