/**
 * A `fetch` for the client that goes to one origin only, connects to checked addresses, shows the credential and takes
 * no more than may be. On node:http, because the global one cannot be held to an address.
 */
import type { Agent, IncomingMessage } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type { Credential } from '../../core/ports/secrets.ts'
import { isEventStream } from '../../wire/http/event-stream.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import { BodyMeter, tooLarge } from './bounded-body.ts'
import { NO_ANSWER } from './faults.ts'
import type { McpParts, Sending } from './parts.ts'
import type { HttpSettings } from './settings.ts'

/** Names the call that a request belongs to, for us and for whoever reads the server's log. */
export const CALL_HEADER = 'x-request-id'

/** Shorter than the five seconds after which many servers close: see governance/remote.ts. */
const KEEP_ALIVE_MS = 4_000

export interface GuardedFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  close(): void
}

export interface FetchEvents {
  sendingOf(call: string): Sending | undefined
  /** A stream that the server speaks up on could not be opened, or opened again. */
  streamLost(): void
  /** One was opened. */
  streamOpened(): void
}

type Headers = Readonly<Record<string, string>>

export function createGuardedFetch(settings: HttpSettings, parts: McpParts, events: FetchEvents): GuardedFetch {
  const { origin, protocol, hostname } = new URL(settings.url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const { Agent, request } = process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http')
  const agent: Agent = new Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS })

  async function addresses() {
    if (parts.lookup) return parts.lookup(host, settings.allowPrivate)
    throw new Fault('internal', 'An import needs to be told where it may connect: give its parts a "lookup".')
  }

  async function send(url: URL, init: RequestInit, headers: Headers, signal: AbortSignal): Promise<IncomingMessage> {
    const [found] = await addresses()
    signal.throwIfAborted()
    if (!found) throw unanswered(url.host, 'ENOTFOUND')
    const body = typeof init.body === 'string' ? init.body : undefined
    return new Promise((resolve, reject) => {
      const sent = request({
        method: init.method ?? 'GET',
        host,
        port: url.port,
        path: url.pathname + url.search,
        agent,
        signal,
        maxHeaderSize: 16 * 1024,
        lookup: (_name, { all }, done) => (all ? done(null, [found]) : done(null, found.address, found.family)),
        headers: {
          host: url.host,
          'user-agent': 'callplane',
          'accept-encoding': 'identity',
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
      })
      sent.once('response', resolve)
      sent.once('error', (error) => reject(explain(error, url.host)))
      sent.end(body)
    })
  }

  async function answer(url: URL, init: RequestInit, sending: Sending | undefined): Promise<Response> {
    const signals = [init.signal, sending?.signal].filter((signal) => signal !== undefined && signal !== null)
    const signal = AbortSignal.any(signals)
    const own = Object.fromEntries(new Headers(init.headers))
    const credential = (): Promise<Credential | undefined> => sending?.credential() ?? parts.credential(signal)
    let first: IncomingMessage | undefined
    const response = await sendWithCredential(
      { credential },
      (shown) => {
        first?.destroy()
        return send(url, init, { ...settings.headers, ...own, ...lowered(shown) }, signal)
      },
      (got) => {
        first = got
        return got.statusCode === 401
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
    close: () => agent.destroy(),
  }
}

const BODILESS = new Set([204, 205, 304])

function toResponse(got: IncomingMessage, host: string, maxBytes: number, sending: Sending | undefined): Response {
  const { statusCode: status = 502, headers: raw } = got
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw)) for (const one of [value ?? []].flat()) headers.append(name, one)
  try {
    if (Number(headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
    if ((headers.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') throw encoded(host)
  } catch (thrown) {
    got.destroy()
    throw thrown
  }
  if (BODILESS.has(status)) {
    got.resume()
    return new Response(null, { status, headers })
  }
  const events = isEventStream(headers.get('content-type'))
  const body = ReadableStream.from(metered(got, new BodyMeter(maxBytes, events), host, sending))
  return new Response(body, { status, headers })
}

async function* metered(got: IncomingMessage, meter: BodyMeter, host: string, sending: Sending | undefined) {
  try {
    for await (const chunk of got as AsyncIterable<Buffer>) {
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

/** Only the host is named: the rest of an address may be a secret. */
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

function encoded(host: string): Fault {
  return new Fault('upstream', `${host} compresses its answer though it was asked not to. Have it answer plainly.`, {
    code: 'ANSWER_ENCODED',
    retryable: false,
  })
}
