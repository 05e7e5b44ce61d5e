/**
 * Requests to a provider: to checked addresses, without following redirects, and reading no more and waiting no longer
 * than is reasonable for the short documents they answer with.
 */
import { Fault } from '../../core/fault.ts'
import { checkAddress, type OAuthProvider } from './provider.ts'

export type ProviderFetch = (url: string, init: ProviderRequest) => Promise<Response>

interface ProviderRequest {
  method?: string
  headers?: Record<string, string>
  body?: URLSearchParams | undefined
}

const MAX_BYTES = 1024 * 1024

export function createProviderFetch(id: string, provider: OAuthProvider): ProviderFetch {
  const { timeoutMs = 10_000 } = provider
  return async (address, { method = 'GET', headers = {}, body }) => {
    const url = checkAddress(address, provider, `What ${id} says of itself`)
    try {
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        ...(body && { body }),
      })
      return await buffered(response)
    } catch (cause) {
      throw unreachable(id, cause)
    }
  }
}

export function unreachable(id: string, cause?: unknown): Fault {
  return new Fault('upstream', `${id} could not be asked about your authorization. Try again in a moment.`, {
    code: 'PROVIDER_UNREACHABLE',
    ...(cause !== undefined && { cause }),
  })
}

/** The whole answer in memory, so that the time limit and the size limit hold for its body as well. */
async function buffered(response: Response): Promise<Response> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`)
    pieces.push(piece)
  }
  const { status, headers } = response
  return new Response(hasBody(status) ? Buffer.concat(pieces) : null, { status, headers })
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304
}
