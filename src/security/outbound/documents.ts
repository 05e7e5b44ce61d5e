/** Fetches short documents from services that the operator configures, for libraries that need a `Response`. */
import type { RemoteClient } from '../../core/ports/outbound.ts'

export interface DocumentRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

const MAX_BYTES = 1024 * 1024
const BODILESS = new Set([204, 205, 304])

/** The headers that the libraries read. */
const HEADERS = ['content-type', 'www-authenticate']

/**
 * The whole response is held in memory, so that the limits of time and size include its body. The service may be in a
 * private network, because the operator configures it.
 */
export async function fetchDocument(remote: RemoteClient, url: string, request: DocumentRequest): Promise<Response> {
  const { status, header, text } = await remote.send({ ...request, url, maxBytes: MAX_BYTES, allowPrivate: true })
  const headers = new Headers(HEADERS.flatMap((name) => [[name, header(name)]].filter(isPresent)))
  return new Response(BODILESS.has(status) ? null : text, { status, headers })
}

function isPresent(pair: (string | undefined)[]): pair is [string, string] {
  return pair[1] !== undefined
}
