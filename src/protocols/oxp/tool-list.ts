/** `GET /tools`: every version of every tool. Rebuilt only when a tool is added, removed or passes its sunset. */

import type { Operation } from '../../core/operation/operation.ts'
import type { Catalog, Tools } from '../../core/ports/catalog.ts'
import type { Answer } from '../../core/ports/exchange.ts'
import { encodeTool, marked } from './codec.ts'
import type { Dialect } from './wire.ts'

export interface ToolList {
  answer(dialect: 'flat' | 'otc', now: number): Answer
}

export function createToolList(
  tools: Tools,
  registry: Pick<Catalog, 'operations' | 'nextChangeAt'>,
  headers: Record<string, string>,
): ToolList {
  const built = new Map<Dialect, { answer: Answer; validUntil: number; of: readonly Operation[] }>()
  return {
    answer(dialect, now) {
      const kept = built.get(dialect)
      const of = registry.operations
      if (kept && kept.of === of && now < kept.validUntil) return kept.answer
      const definitions = tools.versions(now).map((tool) => encodeTool(tool, dialect))
      const document = dialect === 'otc' ? marked('otc', { tools: definitions }) : { items: definitions }
      const answer: Answer = { status: 200, headers, body: new TextEncoder().encode(JSON.stringify(document)) }
      built.set(dialect, { answer, validUntil: registry.nextChangeAt(now) ?? Number.POSITIVE_INFINITY, of })
      return answer
    },
  }
}
