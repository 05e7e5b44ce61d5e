/** The operations of a server and their backends. An invalid definition is refused here, before anything is opened. */
import type { Operation } from '../../core/operation/operation.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import { createOwnOperations, refuseOwnNames } from '../../engine/admin/operations.ts'
import type { Registry } from '../../engine/registry.ts'
import { createTools, type ToolIndex } from '../../engine/tools.ts'
import { Announcements } from '../announcements/announcements.ts'
import { bareNames, type IsBare } from '../options/bare-names.ts'
import { warnOfLeftOut } from '../options/left-out.ts'
import { DEFAULT_TOOLKIT, type ServerOptions } from '../options/options.ts'
import { type Backends, loadBackends } from './backends.ts'
import type { Base } from './base.ts'
import { type PreparedImport, prepareImports } from './imports.ts'
import { buildRegistry } from './operations.ts'

export interface Offer {
  registry: Registry
  tools: ToolIndex
  toolkit: string
  /** Decides which tools have no namespace in their names. */
  isBare: IsBare
}

/** The backends of operations defined here, and the servers whose tools are imported. */
export interface Runners {
  backends: Pick<Backends<unknown>, 'close'>
  backendParts: BackendParts
  imports: readonly PreparedImport[]
}

/** The server's own operations. They need the engine, which is created later. */
export interface Own {
  administration: ReturnType<typeof createOwnOperations>
  announcements: Announcements | undefined
}

export async function prepareOffer<App>(
  options: ServerOptions<App>,
  { clock, log, remote }: Base,
): Promise<{ offer: Offer; runners: Runners; own: Own }> {
  refuseOwnNames(options.operations)
  const administration = createOwnOperations()
  const announcements = options.announce && new Announcements(options.announce)
  const ours = [...administration.definitions, ...(announcements ? [announcements.definition] : [])]
  const backendParts = { clock, log, remote, lookup: remote.lookup, folder: process.cwd() }
  const definitions = options.operations.flatMap((entry) => ('removed' in entry ? [] : [entry]))
  const backends = await loadBackends(definitions, backendParts)
  const imports = await prepareImports(options.imports)
  const registry = buildRegistry([...options.operations, ...ours], backends.create, log)
  const isBare = bareNames(options.tools ?? {}, registry, imports.length > 0)
  const toolkit = options.toolkit ?? DEFAULT_TOOLKIT
  const tools = createTools(registry, toolkit, isTool, warnOfLeftOut(log), isBare)
  return {
    offer: { registry, tools, toolkit, isBare },
    runners: { backends, backendParts, imports },
    own: { administration, announcements },
  }
}

/**
 * Tools take and return JSON, so an operation that requires an attachment is not a tool. Administration is not offered
 * to models.
 */
function isTool({ media, internal }: Operation): boolean {
  return !internal && !media.some((slot) => slot.required)
}
