/** Whether the callers of a server can belong to several tenants. */
import type { ServerOptions } from './options.ts'

/** An application that identifies callers itself may name any tenant. */
export function hasSeveralTenants<App>({ auth = {}, console: page }: ServerOptions<App>): boolean {
  const { tenant = 'main', tokens = [], jwt = [], verify } = auth
  const namesCallers = verify !== undefined || (typeof page === 'object' && page.oidc?.callerOf !== undefined)
  const isOther = (own: string | undefined) => own !== undefined && own !== tenant
  return (
    namesCallers || tokens.some((token) => isOther(token.tenant)) || jwt.some((rule) => rule.tenantClaim !== undefined)
  )
}
