/** The meaning of each kind of fault under its default code, and what a caller can do about it. */
import type { FaultKind } from '../../../core/fault.ts'

/** What the code means, and what the caller can do. */
export type Meaning = readonly [message: string, remedy: string]

/** Complete by its type: a new kind does not compile until it has a meaning. */
export const KINDS: Readonly<Record<FaultKind, Meaning>> = {
  malformed: ['The request cannot be understood.', 'Correct what the message names. The cause has the field.'],
  'unknown-operation': ['There is no operation of this name.', 'Take the name from the registry, with its version.'],
  removed: ['The operation was removed after its sunset.', 'Call the operation in cause.replacement.'],
  unauthenticated: ['The credential is missing or not valid.', 'Send a valid credential.'],
  forbidden: ['The credential lacks a scope of the operation.', 'Use a credential with its authScopes.'],
  'requirements-missing': [
    'The operation needs an authorization, a secret or a user id that the call lacks.',
    'Open the address in cause.authorization, or send what the cause names. Then call again.',
  ],
  'invalid-input': ['The arguments break the schema.', "Correct them by the operation's argsSchema and the cause."],
  conflict: ['Another request has changed or used this already.', 'Read the current state before you call again.'],
  'not-found': ['The call, chunk or object does not exist, has expired, or is not yours.', 'Do not ask again for it.'],
  'rate-limited': ['You send requests too often.', 'Wait for retryAfterMs.'],
  overloaded: ['The server has no room for another call.', 'Wait for retryAfterMs, then call again.'],
  unavailable: ['The server cannot take calls at the moment.', 'Call again later, with the same idempotency key.'],
  domain: ['The operation failed for a reason of its own.', 'Read the message and the cause.'],
  canceled: ['The call was canceled.', 'Make a new call if you still need it.'],
  timeout: [
    'The operation did not end within its time limit.',
    'Call again with the same idempotency key, or ask for less.',
  ],
  upstream: ['A service that the operation depends on failed.', 'Call again later, with the same idempotency key.'],
  'policy-invalid': ['The call or the declaration of its tool breaks a rule.', 'Ask the operator of the server.'],
  'isolation-unavailable': ['The operation needs a sandbox, and there is none.', 'Ask the operator of the server.'],
  'secret-missing': ['A secret of the operation is not available.', 'Ask the operator of the server.'],
  'credential-invalid': ['The tool rejected the credential of the server.', 'Ask the operator of the server.'],
  'credential-forbidden': ['The credential of the server may not use the tool.', 'Ask the operator of the server.'],
  'credential-expired': ['The credential of the server for the tool has expired.', 'Call again in a moment.'],
  'approval-pending': ['The call waits for an approval.', 'Call again once a person has approved it.'],
  'approval-denied': ['A person denied the call.', 'Do not call again without a new reason.'],
  'approval-expired': ['The approval was not decided in time.', 'Call again to request a new approval.'],
  'outcome-unknown': [
    'The call was cut off. It may have had its effect.',
    'Check the effect before you call again with another idempotency key.',
  ],
  internal: ['The server failed.', 'Report it to the operator with the requestId. A repeat may fail again.'],
}
