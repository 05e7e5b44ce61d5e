/**
 * Tool Contract v1, "Transport-Specific Behavior", grpc: sends the request and reads the response as JSON in a unary
 * RPC.
 */
import type { BackendContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import { decodeResponse, encodeRequest } from '../../protocols/contract/client.ts'
import { CONTRACT_VERSION, EXECUTE_METHOD, VERSION_HEADER } from '../../protocols/contract/wire.ts'
import { encodeGrpcTimeout } from '../../wire/grpc/headers.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import { createConnection } from './connection.ts'
import { parseGrpcSettings } from './settings.ts'
import { faultOfGrpc } from './statuses.ts'
import { grpcTraits } from './traits.ts'
import { sendUnary, type UnaryAnswer } from './unary.ts'

export function createGrpcBackend(spec: BackendSpec, parts: BackendParts): Backend {
  const settings = parseGrpcSettings(spec)
  const connection = createConnection(settings, parts)
  const { maxBytes, tool } = settings
  const naming = { mode: 'grpc', ...(tool !== undefined && { tool }) }

  async function send(text: string, credential: Readonly<Record<string, string>>, context: BackendContext) {
    const { signal, remainingMs, traceparent } = context
    const session = await unlessAborted(connection.session(), signal)
    const headers = {
      ...settings.headers,
      [VERSION_HEADER]: CONTRACT_VERSION,
      ...(traceparent !== undefined && { traceparent }),
      ...(remainingMs !== undefined && { 'grpc-timeout': encodeGrpcTimeout(remainingMs) }),
      ...asMetadata(credential),
    }
    const release = connection.hold(session)
    try {
      return await sendUnary(session, { path: EXECUTE_METHOD, headers, text, maxBytes, signal })
    } catch (thrown) {
      if (signal.aborted) connection.doubt(session)
      throw thrown instanceof Fault ? thrown : signal.aborted ? signal.reason : unsent(thrown)
    } finally {
      release()
    }
  }

  return {
    ...grpcTraits,
    async execute(args: unknown, context: BackendContext) {
      const text = JSON.stringify(encodeRequest(args, context, naming))
      const answer = await sendWithCredential(
        context,
        (credential) => send(text, credential, context),
        ({ code }) => code === 'UNAUTHENTICATED',
      )
      return decodeResponse(messageIn(answer), context.key)
    },
    close: () => connection.close(),
  }
}

function messageIn({ code, said, retryAfterMs, text }: UnaryAnswer): string {
  if (code !== 'OK') throw faultOfGrpc(code, said, retryAfterMs)
  if (text !== undefined) return text
  throw new Fault('upstream', 'The tool ended the call without a response message. Ask its developer to correct it.', {
    code: 'BAD_ANSWER',
    retryable: false,
  })
}

/** docs/readings.md#a30: headers become metadata, with names in lower case. */
function asMetadata(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function unsent(cause: unknown): Fault {
  return new Fault('upstream', 'The request could not be sent to the tool. Try again later.', { cause })
}

/** A caller that aborts does not wait for the connection to open. The next call may use that connection. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
