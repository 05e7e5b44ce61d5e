/**
 * Reading A22: the operation is the policy, and a request may only tighten it. Time limits are held against the
 * operation's by the engine; here it is where and with whose credential the tool would run.
 */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation.ts'
import type { ParsedRequest } from './envelope.ts'

/**
 * How the request got here, and no wish about where the tool runs: a runtime of these kinds describes its own way to
 * us, and its `auth` is the credential it has shown us.
 */
const TRANSPORTS = ['', 'external', 'grpc', 'webhook-callback', 'webhook']
const SANDBOXED = ['container', 'wasm', 'sandboxed']
const OPEN = ['http', 'mcp', 'handler', 'none']

export function checkRuntimePolicy({ mode, auth }: Pick<ParsedRequest, 'mode' | 'auth'>, operation: Operation): void {
  checkMode(mode, operation)
  if (mode === '' || !TRANSPORTS.includes(mode)) checkAuth(auth, operation)
}

function checkMode(mode: string, { backend, name }: Operation): void {
  if (TRANSPORTS.includes(mode)) return
  const details = { field: 'runtime.mode', requested: mode, backend: backend.kind }
  if (SANDBOXED.includes(mode)) {
    if (backend.isolated) return
    throw new Fault(
      'isolation-unavailable',
      `${name.full} does not run in a sandbox. Leave runtime.mode out, or call a tool that does.`,
      { details },
    )
  }
  const problem = OPEN.includes(mode) ? 'is a weaker isolation than the one it has' : 'is no mode that is known here'
  if (OPEN.includes(mode) && !backend.isolated) return
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
