/** The steps from a request to the answer of its route: objection, unknown path, method, handler. */
import type { Fault } from '../../core/fault.ts'
import type { Answer, Exchange, Refuse } from '../../core/ports/exchange.ts'
import { type RouteEntry, readParams } from './route-table.ts'
import type { SiteRules } from './site-rules.ts'

export interface RouteAnswering {
  /** Creates the response for a path without a route. */
  fallback: Refuse
  rules: SiteRules | undefined
}

export async function answerRoute(
  exchange: Exchange,
  entry: RouteEntry | undefined,
  objection: Fault | undefined,
  { fallback, rules }: RouteAnswering,
): Promise<Answer> {
  if (objection) return (entry?.refuse ?? fallback)(exchange, { kind: 'fault', fault: objection })
  if (!entry) return fallback(exchange, { kind: 'path' })
  const { allow, refuse, handles } = entry
  const handle = handles.get(exchange.method)
  if (handle) return handle(exchange, readParams(entry, exchange.path))
  if (exchange.method !== 'OPTIONS') return refuse(exchange, { kind: 'method', allow })
  return {
    status: 204,
    headers: { Allow: [...allow, 'OPTIONS'].join(', '), ...rules?.preflightHeaders(exchange, allow) },
  }
}
