/** The operations of a server and their backends. An invalid definition is refused here, before anything is opened. */
import type { Operation } from '../../core/operation/operation.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import { createOwnOperations, refuseOwnNames } from '../../engine/admin/operations.ts'
import type { Registry } from '../../engine/registry.ts'
import { createUnsubscribe, type UnsubscribeOperation } from '../../engine/stream/unsubscribe-operation.ts'
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
  /** Absent if no operation is a stream. */
  unsubscribe: UnsubscribeOperation | undefined
}

export async function prepareOffer<App>(
  options: ServerOptions<App>,
  { clock, log, remote }: Base,
): Promise<{ offer: Offer; runners: Runners; own: Own }> {
  refuseOwnNames(options.operations)
  const administration = createOwnOperations()
  const announcements = options.announce && new Announcements(options.announce)
  const streams = options.operations.filter((entry) => 'frame' in entry)
  const isPublic = streams.some((entry) => 'rules' in entry && entry.rules.public === true)
  const unsubscribe = streams.length > 0 ? createUnsubscribe(isPublic) : undefined
  const ours = [
    ...administration.definitions,
    ...(announcements ? [announcements.definition] : []),
    ...(unsubscribe ? [unsubscribe.definition] : []),
  ]
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
    own: { administration, announcements, unsubscribe },
  }
}

/**
 * Tools take and return JSON, so a stream and an operation that requires an attachment are no tools. Administration is
 * not offered to models.
 */
function isTool({ media, internal, tool, stream }: Operation): boolean {
  return !internal && tool && !stream && !media.some((slot) => slot.required)
}
