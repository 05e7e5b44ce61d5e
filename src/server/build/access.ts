/** Who may call: how callers are identified, which guards decide, and what signs the responses. */
import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import { SCOPES } from '../../core/operation/scopes.ts'
import type { Guard, Identify, Presented } from '../../core/ports/guard.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { AuthConfig, Authenticator } from '../../security/identity/identify.ts'
import { readOnlyGuard } from '../../security/identity/read-only-guard.ts'
import { scopesGuard } from '../../security/identity/scope-guard.ts'
import { createSigner } from '../../security/signatures.ts'
import { createCellGuard } from '../cells/cell-guard.ts'
import type { ConsoleSessions } from '../console/sessions.ts'
import type { RecognizeAdmin } from '../open/admin-token.ts'
import { type CellMap, parseCells } from '../options/cells.ts'
import type { ServerOptions } from '../options/options.ts'
import type { Base } from './base.ts'
import { loadPolicyGuard } from './governing.ts'
import type { Offer, Own, Runners } from './offer.ts'

/**
 * Without authentication, every client on this machine is this one caller. It may do and see everything except
 * administration.
 */
export const LOCAL: Caller = { ...ANONYMOUS, scopes: ['*', SCOPES.metrics] }

export interface Access {
  /** Absent if the server has no authentication. */
  authenticator: Authenticator | undefined
  /** Absent if all callers are here. */
  cells: CellMap | undefined
  guards: readonly Guard[]
  signer: ReturnType<typeof createSigner> | undefined
}

export async function prepareAccess<App>(
  options: ServerOptions<App>,
  { clock, log, remote }: Base,
  { registry }: Offer,
  { imports }: Runners,
  { announcements }: Own,
): Promise<Access> {
  const operations = registry.keys.flatMap((key) => registry.byKey(key) ?? [])
  const declared = imports.map((prepared) => prepared.declared)
  const policy = await loadPolicyGuard(options.policy, operations, declared, log)
  const announced = announcements ? [announcements.guard] : []
  const cells = options.cells && parseCells(options.cells)
  return {
    cells,
    guards: [
      ...(cells ? [createCellGuard(cells)] : []),
      scopesGuard,
      readOnlyGuard,
      ...announced,
      policy,
      ...(options.guards ?? []),
    ],
    authenticator: options.auth && (await loadAuthenticator(options.auth, clock, remote)),
    signer: options.signing && createSigner(options.signing, clock),
  }
}

/** Identifies the sender of a request by its credential. */
export function identifyBy(
  authenticator: Authenticator | undefined,
  recognizeAdmin: RecognizeAdmin,
  sessions: Pick<ConsoleSessions, 'recognize'> | undefined,
) {
  return (source: Presented): Identify => {
    const header = (name: string) => source.header(name)
    const known = () => recognizeAdmin(header) ?? sessions?.recognize(header)
    if (!authenticator) return () => known() ?? LOCAL
    return () => known() ?? authenticator.authenticate(header, source.auth)
  }
}

/** Loaded on first use: the JWT library takes 40 ms and 16 MB. */
async function loadAuthenticator(auth: AuthConfig, clock: Clock, remote: RemoteClient): Promise<Authenticator> {
  const { createAuthenticator } = await import('../../security/identity/identify.ts')
  return createAuthenticator(auth, clock, remote)
}
