/** `tools/list`: cached for each generation and audience. Rebuilt when an operation is added, removed or expires. */
import type { Operation } from '../../../core/operation/operation.ts'
import type { Catalog, Tools } from '../../../core/ports/catalog.ts'
import { completed } from '../codec.ts'
import { Written } from '../rpc.ts'
import type { Generation, ToolDefinition } from '../wire.ts'
import { encodeTool } from './definition.ts'

/** How long a client may cache a list. A call of a removed tool is refused. */
export const LIST_TTL_MS = 60_000

export interface Caching {
  ttlMs: number
  cacheScope: 'public' | 'private'
}

export interface ToolList {
  /**
   * Returns the encoded result. A caller without a credential gets only public tools. Internal tools are only for
   * callers who may call them.
   */
  written(reader: ListReader, now: number, internal?: readonly Operation[]): Written
}

export interface ListReader {
  generation: Generation
  audience: 'everybody' | 'known'
  /** The client supports tasks. A stream is a tool for such clients only. */
  tasks: boolean
}

interface Kept {
  written: Written
  validUntil: number
  of: readonly Operation[]
}

const NONE: readonly Operation[] = []

/** `own` returns tools that replace the list of operations. */
export function createToolList(
  registry: Pick<Catalog, 'operations' | 'nextChangeAt'>,
  tools: Tools,
  cacheScope: Caching['cacheScope'],
  own?: (generation: Generation) => readonly ToolDefinition[],
): ToolList {
  const kept = new Map<string, Kept>()
  return {
    written({ generation, audience, tasks }, now, internal = NONE) {
      const key = `${generation} ${audience} ${tasks} ${internal.map((operation) => operation.key).join(' ')}`
      const of = registry.operations
      const known = kept.get(key)
      if (known && known.of === of && now < known.validUntil) return known.written
      const listed =
        own?.(generation) ??
        tools
          .list(now)
          .filter(({ operation }) => (operation.internal ? internal.includes(operation) : true))
          .filter(({ operation }) => audience === 'known' || operation.public)
          .filter(({ operation }) => tasks || !operation.stream)
          .map(({ name, operation }) => encodeTool(name, operation, generation))
      const written = new Written(withCaching({ tools: listed }, generation, cacheScope))
      kept.set(key, { written, validUntil: registry.nextChangeAt(now) ?? Number.POSITIVE_INFINITY, of })
      return written
    },
  }
}

/** Adds the cache fields that the stateless revision requires in every list. */
export function withCaching<T extends object>(
  result: T,
  generation: Generation,
  cacheScope: Caching['cacheScope'],
  ttlMs = LIST_TTL_MS,
): T | (T & Caching) {
  return generation === 'stateless' ? completed({ ...result, ttlMs, cacheScope }, generation) : result
}
