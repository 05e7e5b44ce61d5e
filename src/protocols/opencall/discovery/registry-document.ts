/** The registry, as it is served at `/.well-known/ops`. */

import type { Operation } from '../../../core/operation/operation.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'
import { encodeOperation, encodeTombstone } from '../codec.ts'
import { CALL_VERSION, type RegistryEntry, type TombstoneEntry } from '../wire.ts'

export interface RegistryDocument {
  callVersion: string
  operations: (RegistryEntry | TombstoneEntry)[]
}

/** What the later revision adds where the registry is served, besides `schemaHash`. */
export function atServer({ callVersion, ...rest }: RegistryDocument, basePath: string) {
  // `rpc` is POST /call, and `path` is POST /ops/{path}/{version}.
  return { callVersion, endpoints: ['rpc', 'path'], errorsUrl: `${basePath}${ERRORS_PATH}`, ...rest }
}

export const ERRORS_PATH = '/.well-known/errors'

interface ListedOptions {
  internal?: readonly Operation[]
  listRemoved?: boolean
  /** The transports of streams on this server. */
  transports?: readonly string[]
}

export function encodeRegistry(
  catalog: Catalog,
  now: number,
  { internal = [], listRemoved = false, transports = [] }: ListedOptions = {},
): RegistryDocument {
  const operations = [...catalog.list(now), ...internal].map((operation) => encodeOperation(operation, transports))
  if (!listRemoved) return { callVersion: CALL_VERSION, operations }
  return { callVersion: CALL_VERSION, operations: [...operations, ...catalog.listRemoved(now).map(encodeTombstone)] }
}
