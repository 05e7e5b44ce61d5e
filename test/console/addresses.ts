/** One address of each route, on a server where people have worked. A new route does not compile until it has one. */
import type { RouteName } from '../../console/src/routes.ts'
import { someRuns, waitingApproval } from './world.ts'

export async function addressesOf(url: string): Promise<Record<RouteName, string>> {
  const [failed, other] = await someRuns(url)
  return {
    explore: '#/?q=orders',
    operation: '#/op/v1:orders.refund',
    runs: '#/runs',
    run: `#/run/${failed}`,
    compare: `#/compare/${failed}/${other}`,
    approvals: '#/approvals',
    approval: `#/approvals/${await waitingApproval(url, 'A-1003')}`,
    dead: '#/dead',
    streams: '#/streams',
    stream: `#/streams/${failed}`,
    health: '#/health',
    audit: '#/audit',
    errors: '#/errors',
    error: '#/errors/TIMEOUT',
    settings: '#/settings',
    login: '#/login',
  }
}
