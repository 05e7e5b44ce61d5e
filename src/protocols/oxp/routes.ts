/** HTTP routes of OXP and OTC. */

import { Fault } from '../../core/fault.ts'
import type { Answer, Exchange, Refusal, Route } from '../../core/ports/exchange.ts'
import { HEADERS, refusal, refusalAnswer } from './answers.ts'
import { needsCredential, type OxpParts, ToolCalls } from './calls.ts'
import { checkVersionHeader } from './envelope.ts'
import { statusOf } from './faults.ts'
import { createToolList, type ToolList } from './tool-list.ts'

const HEALTHY: Answer = { status: 200, headers: HEADERS, body: '{"status":"ok"}' }
const DRAINING: Answer = { status: 503, headers: HEADERS, body: '{"status":"draining"}' }

/** The root serves both protocols and detects the dialect from the body. `/otc` serves only OTC. */
export function createOxpRoutes(parts: OxpParts): Route[] {
  const list = createToolList(parts.tools, parts.catalog, HEADERS)
  return [...routesOf(parts, list, 'flat', ''), ...routesOf(parts, list, 'otc', '/otc')]
}

function routesOf(parts: OxpParts, list: ToolList, base: 'flat' | 'otc', prefix: string): Route[] {
  const calls = new ToolCalls(parts, base)
  const refuse = (_exchange: Exchange, why: Refusal) => refusal(why, base)
  const health = () => (parts.calls.draining ? DRAINING : HEALTHY)
  return [
    { path: `${prefix}/health`, refuse, methods: { GET: health } },
    { path: `${prefix}/tools`, refuse, methods: { GET: (exchange) => listTools(exchange, parts, list, base) } },
    { path: `${prefix}/tools/call`, refuse, methods: { POST: (exchange) => calls.call(exchange) } },
  ]
}

async function listTools(exchange: Exchange, parts: OxpParts, list: ToolList, base: 'flat' | 'otc'): Promise<Answer> {
  // A request for the list has no marker. A client that sends an OTC key uses OTC.
  const dialect = exchange.header('otc-api-key') === undefined ? base : 'otc'
  try {
    if (!(await parts.identify(exchange)())) throw needsCredential()
    if (base === 'flat') checkVersionHeader(exchange.header('oxp-version'))
    return list.answer(dialect, parts.env.clock.now())
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return refusalAnswer(thrown, thrown.kind === 'unauthenticated' ? 401 : statusOf(thrown), dialect)
  }
}
