/** The routes for operators: readiness and metrics. OXP defines `/health`. */

import { Fault } from '../../core/fault.ts'
import { hasScope, SCOPES } from '../../core/operation/scopes.ts'
import type { Answer, Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'

export interface SystemParts {
  draining: () => boolean
  /** True if calls can be recorded. */
  storing: () => boolean
  renderMetrics: () => string | Promise<string>
  metricsType: string
  identify: (exchange: Exchange) => Identify
  refuse: Refuse
}

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
const OK: Answer = { status: 200, headers: HEADERS, body: '{"status":"ok"}' }
const DRAINING: Answer = { status: 503, headers: HEADERS, body: '{"status":"draining"}' }
const NOT_STORING: Answer = { status: 503, headers: HEADERS, body: '{"status":"storage-unavailable"}' }

export function createSystemRoutes(parts: SystemParts): Route[] {
  const { draining, storing, renderMetrics, metricsType, identify, refuse } = parts
  const ready = () => (draining() ? DRAINING : storing() ? OK : NOT_STORING)
  return [
    { path: '/ready', refuse, methods: { GET: ready } },
    {
      path: '/metrics',
      refuse,
      methods: {
        async GET(exchange) {
          await requireScope(identify(exchange))
          return {
            status: 200,
            headers: { 'Content-Type': metricsType, 'Cache-Control': 'no-store' },
            body: await renderMetrics(),
          }
        },
      },
    },
  ]
}

async function requireScope(identify: Identify): Promise<void> {
  const caller = await identify()
  if (!caller) throw new Fault('unauthenticated', 'Metrics need a credential with the scope callplane:metrics.')
  if (hasScope(caller, SCOPES.metrics)) return
  throw new Fault('forbidden', 'Metrics need the scope callplane:metrics.', {
    details: { required: [SCOPES.metrics] },
  })
}
