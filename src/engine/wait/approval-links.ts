/**
 * Signed links to the status of an approval. Only this deployment can create them, and every holder of a link may read
 * it.
 */
import type { Environment } from '../../core/ports/runtime.ts'

export function approvalStatusPath(env: Pick<Environment, 'sign'>, tenant: string, id: string): string {
  const query = new URLSearchParams({ tenant, signature: env.sign(signedText(tenant, id)) })
  return `/approvals/${encodeURIComponent(id)}/status?${query}`
}

/** The tenant of the approval. `undefined` if this deployment did not sign the link. */
export function tenantInLink(env: Pick<Environment, 'isSigned'>, id: string, query: string): string | undefined {
  const sent = new URLSearchParams(query)
  const tenant = sent.get('tenant') ?? ''
  return env.isSigned(signedText(tenant, id), sent.get('signature') ?? '') ? tenant : undefined
}

function signedText(tenant: string, id: string): string {
  return JSON.stringify(['approval', tenant, id])
}
