/**
 * Compares the isolation and credentials in a request with the operation's declaration. A request may only be stricter
 * (docs/readings.md#a22). The engine compares time limits.
 */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { ParsedRequest } from './envelope.ts'

/**
 * These modes describe how the runtime reached this server, not where the tool should run. Their `auth` is the
 * credential that the runtime sent to this server.
 */
const TRANSPORTS = ['', 'external', 'grpc', 'webhook-callback', 'webhook']

/** Modes that do not name a kind of backend: any sandbox, and no sandbox. */
const ANY_SANDBOX = 'sandboxed'
const NO_SANDBOX = 'none'

/** True if backends of this kind are sandboxes. `undefined` for an unknown kind. */
export type IsolationOf = (kind: string) => boolean | undefined

export function checkRuntimePolicy(
  { mode, auth }: Pick<ParsedRequest, 'mode' | 'auth'>,
  operation: Operation,
  isolationOf: IsolationOf,
): void {
  if (!TRANSPORTS.includes(mode)) checkMode(mode, operation, isolationOf)
  if (mode === '' || !TRANSPORTS.includes(mode)) checkAuth(auth, operation)
}

function checkMode(mode: string, { backend, name }: Operation, isolationOf: IsolationOf): void {
  const sandboxed = mode === ANY_SANDBOX || (mode !== NO_SANDBOX && isolationOf(mode))
  if (sandboxed === (backend.isolated ?? false)) return
  const details = { field: 'runtime.mode', requested: mode, backend: backend.kind }
  if (sandboxed) {
    throw new Fault(
      'isolation-unavailable',
      `${name.full} does not run in a sandbox. Leave runtime.mode out, or call a tool that does.`,
      { details },
    )
  }
  const problem = sandboxed === undefined ? 'is unknown' : 'is weaker than the declared isolation'
  throw new Fault('policy-invalid', `The runtime.mode for ${name.full} ${problem}. Leave it out.`, { details })
}

function checkAuth({ profile, secretRef, scopes }: ParsedRequest['auth'], { auth, name }: Operation): void {
  const foreignScope = auth?.profile === 'oauth2_client_credentials' && !scopes.every((s) => auth.scopes?.includes(s))
  const field =
    profile !== '' && profile !== auth?.profile
      ? 'auth.profile'
      : secretRef !== '' && secretRef !== auth?.secretRef
        ? 'auth.secret_ref'
        : foreignScope
          ? 'auth.scopes'
          : undefined
  if (field === undefined) return
  throw new Fault('policy-invalid', `${field} differs from the declaration of ${name.full}. Leave "auth" out.`, {
    details: { field },
  })
}
