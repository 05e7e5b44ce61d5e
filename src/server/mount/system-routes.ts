/** The routes for operators: readiness and metrics. OXP defines `/health`. */

import { Fault } from '../../core/fault.ts'
import { hasScope, SCOPES } from '../../core/operation/scopes.ts'
import type { Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import { type ReadinessParts, readiness } from './readiness.ts'

export interface SystemParts extends ReadinessParts {
  renderMetrics: () => string | Promise<string>
  metricsType: string
  identify: (exchange: Exchange) => Identify
  refuse: Refuse
}

export function createSystemRoutes(parts: SystemParts): Route[] {
  const { renderMetrics, metricsType, identify, refuse } = parts
  return [
    { path: '/ready', refuse, methods: { GET: () => readiness(parts) } },
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
