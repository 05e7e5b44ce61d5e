/** Where it can be asked how an approval stands: a link that only this deployment makes, so whoever holds it may ask. */
import type { Environment } from '../../core/ports/runtime.ts'

export function approvalStatusPath(env: Pick<Environment, 'sign'>, tenant: string, id: string): string {
  const query = new URLSearchParams({ tenant, signature: signatureOf(env, tenant, id) })
  return `/approvals/${encodeURIComponent(id)}/status?${query}`
}

/** The tenant of the approval, or nothing if the link is not one of ours. */
export function tenantInLink(env: Pick<Environment, 'sign'>, id: string, query: string): string | undefined {
  const sent = new URLSearchParams(query)
  const tenant = sent.get('tenant') ?? ''
  // The comparison is over a keyed hash: learning where it differs teaches nothing about the next one.
  return sent.get('signature') === signatureOf(env, tenant, id) ? tenant : undefined
}

function signatureOf(env: Pick<Environment, 'sign'>, tenant: string, id: string): string {
  return env.sign(JSON.stringify(['approval', tenant, id]))
}
