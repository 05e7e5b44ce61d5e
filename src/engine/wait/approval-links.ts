/**
 * Signed links to the status of an approval. Only this deployment can create them, and every holder of a link may read
 * it.
 */
import type { Environment } from '../../core/ports/runtime.ts'

export function approvalStatusPath(env: Pick<Environment, 'sign'>, tenant: string, id: string): string {
  const query = new URLSearchParams({ tenant, signature: signatureOf(env, tenant, id) })
  return `/approvals/${encodeURIComponent(id)}/status?${query}`
}

/** The tenant of the approval. `undefined` if this deployment did not sign the link. */
export function tenantInLink(env: Pick<Environment, 'sign'>, id: string, query: string): string | undefined {
  const sent = new URLSearchParams(query)
  const tenant = sent.get('tenant') ?? ''
  // The comparison is over a keyed hash, so its timing reveals nothing about another signature.
  return sent.get('signature') === signatureOf(env, tenant, id) ? tenant : undefined
}

function signatureOf(env: Pick<Environment, 'sign'>, tenant: string, id: string): string {
  return env.sign(JSON.stringify(['approval', tenant, id]))
}
