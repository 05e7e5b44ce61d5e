/** The route where a client polls the status of an approval. The link is the credential. */

import type { Answer, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { tenantInLink } from '../../engine/wait/approval-links.ts'
import type { Approval, Approvals } from '../../engine/wait/approvals.ts'

type Status = 'pending' | 'completed' | 'failed'

export function createApprovalRoutes(approvals: Approvals, env: Environment, refuse: Refuse): Route[] {
  return [
    {
      path: '/approvals/{id}/status',
      refuse,
      methods: {
        async GET(exchange, { id = '' }) {
          const tenant = tenantInLink(env, id, exchange.query)
          const approval = tenant === undefined ? undefined : await approvals.get(tenant, id)
          return statusAnswer(approval ? statusOf(approval, env.clock.now()) : 'failed')
        },
      },
    },
  ]
}

/** `completed`: sending the same call again runs it or returns its outcome. */
function statusOf({ status, expiresAt }: Approval, now: number): Status {
  switch (status) {
    case 'used':
      return 'completed'
    case 'denied':
    case 'canceled':
      return 'failed'
    case 'approved':
      return now < expiresAt ? 'completed' : 'failed'
    case 'pending':
      return now < expiresAt ? 'pending' : 'failed'
  }
}

/** Always 200, as OXP specifies for the status of a challenge. An unknown or forged link is a failed challenge. */
function statusAnswer(status: Status): Answer {
  return { status: 200, headers: HEADERS, body: JSON.stringify({ status }) }
}

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }
