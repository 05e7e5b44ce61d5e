/** The routes for operators: readiness and metrics. OXP defines `/health`. */

import { Fault } from '../../core/fault.ts'
import { hasScope, SCOPES } from '../../core/operation/scopes.ts'
import type { Answer, Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import type { CarrierState } from './wired/index.ts'

export interface SystemParts {
  draining: () => boolean
  /** True if calls can be recorded. */
  storing: () => boolean
  /** The state of each carrier beside HTTP, by name. */
  carriers: () => Readonly<Record<string, CarrierState>>
  renderMetrics: () => string | Promise<string>
  metricsType: string
  identify: (exchange: Exchange) => Identify
  refuse: Refuse
}

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

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

/** A broker that is away does not make the server unready: it still serves HTTP, and reconnects by itself. */
function readiness({ draining, storing, carriers }: SystemParts): Answer {
  const status = draining() ? 'draining' : storing() ? 'ok' : 'storage-unavailable'
  const states = carriers()
  const body = Object.keys(states).length > 0 ? { status, carriers: states } : { status }
  return { status: status === 'ok' ? 200 : 503, headers: HEADERS, body: JSON.stringify(body) }
}

async function requireScope(identify: Identify): Promise<void> {
  const caller = await identify()
  if (!caller) throw new Fault('unauthenticated', 'Metrics need a credential with the scope callplane:metrics.')
  if (hasScope(caller, SCOPES.metrics)) return
  throw new Fault('forbidden', 'Metrics need the scope callplane:metrics.', {
    details: { required: [SCOPES.metrics] },
  })
}
