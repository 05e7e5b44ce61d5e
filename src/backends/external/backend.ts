/** Tool Contract v1, "Transport-Specific Behavior", external: the whole request goes out, a strict response comes back. */
import type { BackendContext } from '../../core/context.ts'
import type { BackendSpec } from '../../core/operation.ts'
import type { Backend, BackendParts } from '../../core/ports.ts'
import { sendWithCredential } from '../../core/send-with-credential.ts'
import { decodeResponse, encodeRequest, faultOfStatus, parseRetryAfter } from '../../protocols/contract/client.ts'
import { CONTRACT_VERSION, VERSION_HEADER } from '../../protocols/contract/wire.ts'
import { parseExternalSettings } from './settings.ts'

export function createExternalBackend(spec: BackendSpec, { remote, clock }: BackendParts): Backend {
  const { endpoint, headers, maxBytes, allowPrivate, tool } = parseExternalSettings(spec)
  const own = {
    accept: 'application/json',
    ...headers,
    'content-type': 'application/json',
    [VERSION_HEADER]: CONTRACT_VERSION,
  }
  const naming = { mode: 'external', ...(tool !== undefined && { tool }) }
  return {
    kind: 'external',
    async execute(args: unknown, context: BackendContext) {
      const { signal, key } = context
      const body = JSON.stringify(encodeRequest(args, context, naming))
      const answer = await sendWithCredential(
        context,
        (credential) =>
          remote.send({
            method: 'POST',
            url: endpoint,
            headers: { ...own, ...credential },
            body,
            maxBytes,
            allowPrivate,
            signal,
          }),
        ({ status }) => status === 401,
      )
      if (answer.status >= 200 && answer.status < 300) return decodeResponse(answer.text, key)
      throw faultOfStatus(answer.status, parseRetryAfter(answer.header('retry-after'), clock.now()))
    },
  }
}
