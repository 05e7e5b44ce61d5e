/**
 * A `fetch` for the MCP client, built on the client for remote tools. It contacts one origin only, sends the credential
 * and limits the size of responses.
 */
import { Fault } from '../../core/fault.ts'
import type { RemoteRequest, RemoteStream } from '../../core/ports/outbound.ts'
import type { Credential } from '../../core/ports/secrets.ts'
import { isEventStream } from '../../wire/http/event-stream.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import { BodyMeter, tooLarge } from './bounded-body.ts'
import { NO_ANSWER } from './faults.ts'
import type { McpParts, Sending } from './parts.ts'
import type { HttpSettings } from './settings.ts'

/** Names the call that a request belongs to, for this server and for readers of the MCP server's log. */
export const CALL_HEADER = 'x-request-id'

export interface GuardedFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  close(): void
}

export interface FetchEvents {
  sendingOf(call: string): Sending | undefined
  /** The stream for messages from the server could not be opened or reopened. */
  streamLost(): void
  /** The stream for messages from the server was opened. */
  streamOpened(): void
}

type Headers = Readonly<Record<string, string>>

export function createGuardedFetch(settings: HttpSettings, parts: McpParts, events: FetchEvents): GuardedFetch {
  const { origin } = new URL(settings.url)
  const closing = new AbortController()

  async function send(url: URL, init: RequestInit, headers: Headers, signal: AbortSignal): Promise<RemoteStream> {
    const method = (init.method ?? 'GET') as RemoteRequest['method']
    const { allowPrivate } = settings
    const body = typeof init.body === 'string' ? { body: init.body } : {}
    try {
      return await parts.remote.open({ method, url: url.href, headers, ...body, allowPrivate, signal })
    } catch (thrown) {
      throw explain(thrown, url.host)
    }
  }

  async function answer(url: URL, init: RequestInit, sending: Sending | undefined): Promise<Response> {
    const signals = [init.signal, sending?.signal, closing.signal].filter(
      (signal) => signal !== undefined && signal !== null,
    )
    const signal = AbortSignal.any(signals)
    const own = Object.fromEntries(new Headers(init.headers))
    const credential = (): Promise<Credential | undefined> => sending?.credential() ?? parts.credential(signal)
    let first: RemoteStream | undefined
    const response = await sendWithCredential(
      { credential },
      (shown) => {
        first?.discard()
        return send(url, init, { ...settings.headers, ...own, ...lowered(shown) }, signal)
      },
      (got) => {
        first = got
        return got.status === 401
      },
    )
    return toResponse(response, url.host, settings.maxBytes, sending)
  }

  return {
    async fetch(target, init = {}) {
      const url = new URL(target)
      const sending = events.sendingOf(new Headers(init.headers).get(CALL_HEADER) ?? '')
      try {
        if (url.origin !== origin) throw elsewhere(url.host)
        const response = await answer(url, init, sending)
        if (init.method === 'GET' && response.status === 404) events.streamLost()
        if (init.method === 'GET' && response.ok) events.streamOpened()
        return response
      } catch (thrown) {
        sending?.failed(thrown)
        if (init.method === 'GET' && !init.signal?.aborted) events.streamLost()
        throw thrown
      }
    },
    close: () => closing.abort(),
  }
}

const BODILESS = new Set([204, 205, 304])

function toResponse(got: RemoteStream, host: string, maxBytes: number, sending: Sending | undefined): Response {
  const { status, headers: raw } = got
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw)) for (const one of [value ?? []].flat()) headers.append(name, one)
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    got.discard()
    throw tooLarge(maxBytes)
  }
  if (BODILESS.has(status)) {
    got.discard()
    return new Response(null, { status, headers })
  }
  const events = isEventStream(headers.get('content-type'))
  const body = ReadableStream.from(metered(got, new BodyMeter(maxBytes, events), host, sending))
  return new Response(body, { status, headers })
}

async function* metered(got: RemoteStream, meter: BodyMeter, host: string, sending: Sending | undefined) {
  try {
    for await (const chunk of got.body) {
      meter.add(chunk)
      yield new Uint8Array(chunk)
    }
  } catch (thrown) {
    const why = explain(thrown, host)
    if (!meter.resumable) sending?.failed(why)
    throw why
  } finally {
    sending?.ended(meter.resumable)
  }
}

function lowered(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Names only the host: the rest of a URL may contain a secret. */
function explain(error: unknown, host: string): unknown {
  if (error instanceof Fault || (error instanceof Error && error.name === 'AbortError')) return error
  return unanswered(host, error instanceof Error && 'code' in error ? String(error.code) : 'unknown', error)
}

function unanswered(host: string, code: string, cause?: unknown): Fault {
  return new Fault(
    'upstream',
    `${host} did not answer (${code}). Check that the MCP server is running and reachable.`,
    {
      code: NO_ANSWER,
      details: { host, cause: code },
      cause,
    },
  )
}

function elsewhere(host: string): Fault {
  return new Fault('upstream', `The MCP server points at ${host}, and only the host in its "url" is called.`, {
    code: 'TARGET_REFUSED',
    retryable: false,
  })
}
