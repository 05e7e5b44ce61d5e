/** Selects the credential of an envelope: its own `auth` block, or else the credential of the connection. */
import type { Presented, PresentedAuth } from '../../../core/ports/guard.ts'

const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'x-api-key', 'oxp-api-key', 'otc-api-key'])

/**
 * A credential in the block replaces that of the connection. `iss` and `sub` are only claims; the credential proves
 * them.
 */
export function presentedWith(peer: Presented, auth: PresentedAuth | undefined): Presented {
  if (!auth) return peer
  const own = auth.credential === undefined ? undefined : headerFor(auth.credentialType, auth.credential)
  return {
    auth,
    header(name) {
      if (auth.credential === undefined || !CREDENTIAL_HEADERS.has(name)) return peer.header(name)
      return own?.name === name ? own.value : undefined
    },
  }
}

/** Only the application's own `auth.verify` handles other types. */
function headerFor(type: string, credential: string): { name: string; value: string } | undefined {
  switch (type.toLowerCase()) {
    case 'bearer':
      return { name: 'authorization', value: `Bearer ${credential}` }
    case 'apikey':
      return { name: 'x-api-key', value: credential }
    default:
      return undefined
  }
}
