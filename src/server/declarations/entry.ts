/** Shared by both kinds of declaration: reports a fault at the line that caused it. */
import { Fault } from '../../core/fault.ts'
import type { BackendKind, BackendTraits } from '../../core/ports/backend.ts'
import { type Located, placeAt } from './located.ts'
import type { Place, Problems } from './problems.ts'

/** The traits and the settings check of each backend, by kind. */
export type BackendChecks = Readonly<Record<string, Partial<Pick<BackendKind, 'parse'>> & { traits: BackendTraits }>>

export interface Source {
  /** Base of relative paths in a declaration. */
  readonly folder: string
  readonly checks: BackendChecks
  readonly problems: Problems
}

/**
 * Returns the result of `check`. If it throws a fault, reports a problem at the field that the fault names and returns
 * `undefined`.
 */
export function attempt<T>(entry: Located, problems: Problems, check: () => T): T | undefined {
  try {
    return check()
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    problems.add(placeNamedBy(thrown, entry), thrown.message)
    return undefined
  }
}

/**
 * A schema's fault has a pointer. The message of a backend's fault starts with the field: `backend.endpoint is
 * missing`.
 */
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
