/**
 * docs/readings.md#a22: the operation is the policy, and a request may only tighten it. The engine compares time limits;
 * this file compares isolation and credentials.
 */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation.ts'
import type { ParsedRequest } from './envelope.ts'

/**
 * These modes say how the request got here, not where the tool should run: a runtime of such a kind describes its own
 * way to this server, and its `auth` is the credential that it showed here.
 */
const TRANSPORTS = ['', 'external', 'grpc', 'webhook-callback', 'webhook']

/** Modes that name no kind of backend: any sandbox, and none. */
const ANY_SANDBOX = 'sandboxed'
const NO_SANDBOX = 'none'

/** Whether backends of a kind are sandboxes. Nothing for a kind that does not exist. */
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
  const problem =
    sandboxed === undefined ? 'is no mode that is known here' : 'is a weaker isolation than the one it has'
  throw new Fault('policy-invalid', `For ${name.full} this runtime.mode ${problem}. Leave it out.`, { details })
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
  throw new Fault('policy-invalid', `${field} is not what ${name.full} is declared with. Leave "auth" out.`, {
    details: { field },
  })
}
