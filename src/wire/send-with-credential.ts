/**
 * Sends the operation's credential to a remote tool. If the tool refuses a cached credential, it obtains a new one and
 * sends the request once more within the same attempt. If the tool refuses a new one, the call fails.
 */
import type { BackendContext } from '../core/call/context.ts'
import { Fault } from '../core/fault.ts'

const NO_HEADERS: Readonly<Record<string, string>> = {}

/** `isRefusal` recognises the transport's response to a missing or invalid credential. */
export async function sendWithCredential<A>(
  context: Pick<BackendContext, 'credential'>,
  send: (headers: Readonly<Record<string, string>>) => Promise<A>,
  isRefusal: (answer: A) => boolean,
): Promise<A> {
  const credential = await context.credential()
  const answer = await send(credential?.headers ?? NO_HEADERS)
  if (!isRefusal(answer)) return answer
  if (!credential) throw refused('The tool asks for a credential. Declare "auth" for this operation.')
  // Tool Contract v1, "Secret Rotation Semantics": a 401 evicts the cached token, and a fresh exchange follows.
  if (!credential.refused()) throw refused(REFUSED)
  const fresh = await context.credential()
  const second = await send(fresh?.headers ?? NO_HEADERS)
  if (isRefusal(second)) {
    fresh?.refused()
    throw refused(REFUSED)
  }
  return second
}

const REFUSED =
  'The tool does not accept the credential. Check the secret that "auth.secretRef" of this operation names.'

function refused(message: string): Fault {
  return new Fault('credential-invalid', message)
}
