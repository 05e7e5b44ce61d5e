/** The HTTP client of the commands: an address, a credential, and responses as OpenCALL envelopes. */
import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { type CommandIo, unreachableFault, usageFault } from '../command.ts'

export const REMOTE_OPTIONS = { url: { type: 'string' }, token: { type: 'string' } } as const

export const REMOTE_HELP = `  --url <url>            The server (default: http://127.0.0.1:4747). Also CALLPLANE_URL.
  --token <token>        A bearer token. Prefer CALLPLANE_TOKEN: other users of the machine can read a command line.`

/** How long an interrupted command waits for its last request. */
const LEAVE_MS = 2_000

/** The part of a response envelope that the commands read. */
export interface Envelope {
  requestId: string
  state: string
  result?: JsonValue
  error?: { code: string; message: string; cause?: JsonObject }
  location?: { uri: string; auth?: { credentialType: string; credential: string } }
  stream?: StreamPlace
  retryAfterMs?: number
  progress?: { fraction: number; message?: string; attempt?: number }
}

/** Where the frames of a stream can be read. */
export interface StreamPlace {
  transport: string
  location: string
  encoding?: string
  /** Present if a header is before every frame. */
  integrity?: object
  /** In seconds since 1970, as `auth.expiresAt` is. */
  expiresAt?: number
  auth?: { credentialType?: string; credential: string; expiresAt?: number }
}

export interface Answered {
  status: number
  envelope: Envelope
}

export class Remote {
  readonly url: string
  readonly #token: string | undefined
  readonly #signal: AbortSignal

  constructor({ url, token }: { url?: string; token?: string }, { env, signal }: Pick<CommandIo, 'env' | 'signal'>) {
    const given = url ?? (env.CALLPLANE_URL || 'http://127.0.0.1:4747')
    if (!/^https?:\/\//i.test(given) || !URL.canParse(given))
      throw usageFault(`"${given}" is not the address of a server. Write it as http://127.0.0.1:4747.`)
    this.url = given.replace(/\/+$/, '')
    this.#token = token ?? (env.CALLPLANE_TOKEN || undefined)
    this.#signal = signal
  }

  /** Resolves an address from a response, which may be relative. */
  resolve(uri: string): string {
    return new URL(uri, `${this.url}/`).href
  }

  /** Resolves a path below the server's address. Sends the credential only to the server's own origin. */
  async fetch(place: string, init: RequestInit = {}, signal = this.#signal): Promise<Response> {
    const address = place.startsWith('/') ? this.url + place : place
    const headers = new Headers(init.headers)
    const own = this.#credentialFor(address)
    if (own !== undefined && !headers.has('Authorization')) headers.set('Authorization', own)
    try {
      return await fetch(address, { redirect: 'manual', ...init, headers, signal })
    } catch (thrown) {
      throw signal.aborted ? thrown : unreachable(address, thrown)
    }
  }

  async ask(place: string, init?: RequestInit): Promise<Answered> {
    const response = await this.fetch(place, init)
    const value = await readJson(response)
    if (!isJsonObject(value) || typeof value.state !== 'string') throw notOpenCall(response)
    return { status: response.status, envelope: value as unknown as Envelope }
  }

  /** Sends a last request after an interrupt, and does not wait for long. True if the server accepted it. */
  async leave(envelope: JsonObject): Promise<boolean> {
    const headers = { 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(envelope) }
    try {
      const response = await this.fetch('/call', init, AbortSignal.timeout(LEAVE_MS))
      await response.body?.cancel()
      return response.ok
    } catch {
      return false
    }
  }

  async registry(): Promise<JsonObject[]> {
    const response = await this.fetch('/.well-known/ops')
    const value = await readJson(response)
    const operations = isJsonObject(value) ? value.operations : undefined
    if (response.status !== 200 || !Array.isArray(operations)) throw notOpenCall(response)
    return operations.filter(isJsonObject).filter(({ removed }) => removed !== true)
  }

  /** OpenCALL: the credential of the reply or, if it has none, the one of the call. */
  streamCredential({ location, auth }: StreamPlace): Record<string, string> {
    const scheme = auth?.credentialType === 'bearer' ? 'Bearer' : 'OTK'
    const credential = auth ? `${scheme} ${auth.credential}` : this.#credentialFor(location)
    return credential === undefined ? {} : { Authorization: credential }
  }

  /** The token of the command, if the address is on the server itself. */
  #credentialFor(address: string): string | undefined {
    const isOurs = new URL(address.replace(/^ws/i, 'http')).origin === new URL(this.url).origin
    return this.#token !== undefined && isOurs ? `Bearer ${this.#token}` : undefined
  }

  /** Aborts when the command is interrupted. */
  get signal(): AbortSignal {
    return this.#signal
  }

  get interrupted(): boolean {
    return this.#signal.aborted
  }

  /** Waits as long as the server asked for. */
  wait(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: this.#signal })
  }
}

/** Reads a body piece by piece. Throws an "unreachable" fault if the connection breaks. */
export async function* readBody(body: ReadableStream<Uint8Array>, remote: Remote): AsyncIterable<Uint8Array> {
  try {
    yield* body
  } catch (thrown) {
    throw remote.interrupted ? thrown : brokenOff(thrown)
  }
}

function brokenOff(cause: unknown): Fault {
  return unreachableFault('The connection broke in the middle of a response. Try again.', cause)
}

async function readJson(response: Response): Promise<JsonValue> {
  const text = await response.text().catch((thrown: unknown) => {
    throw brokenOff(thrown)
  })
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw notOpenCall(response, cause)
  }
}

function unreachable(address: string, thrown: unknown): Fault {
  const { origin } = new URL(address)
  const inner = thrown instanceof Error ? thrown.cause : undefined
  const code = inner instanceof Error && 'code' in inner ? ` (${String(inner.code)})` : ''
  return unreachableFault(
    `No server responds at ${origin}${code}. Start one with "callplane serve", or pass the address of a running one.`,
    thrown,
  )
}

function notOpenCall(response: Response, cause?: unknown): Fault {
  const { origin, pathname } = new URL(response.url)
  return new Fault(
    'upstream',
    `${origin} responded to ${pathname} with ${response.status} and no OpenCALL document. Is this the address of a Callplane server?`,
    { code: 'NOT_OPENCALL', cause },
  )
}
