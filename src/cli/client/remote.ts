/** The client of the commands: `src/client` with an address and a credential from the command line. */
import { Calling } from '../../client/calling.ts'
import { fetcherOf } from '../../client/downloads/download.ts'
import { createHttpTransport } from '../../client/full-http.ts'
import type { Envelope, OutgoingCall } from '../../client/options.ts'
import { createRegistryReader, type RegistryEntry } from '../../client/registry.ts'
import { systemClock } from '../../client/time.ts'
import type { Fetcher, FetchInit, Received } from '../../client/transport.ts'
import { type CommandIo, usageFault } from '../command.ts'

export const REMOTE_OPTIONS = { url: { type: 'string' }, token: { type: 'string' } } as const

export const REMOTE_HELP = `  --url <url>            The server (default: http://127.0.0.1:4747). Also CALLPLANE_URL.
  --token <token>        A bearer token. Prefer CALLPLANE_TOKEN: other users of the machine can read a command line.`

export class Remote {
  readonly url: string
  /** Aborts when the command is interrupted. */
  readonly signal: AbortSignal
  readonly calling: Calling
  readonly fetcher: Fetcher
  readonly #readRegistry: ReturnType<typeof createRegistryReader>

  constructor({ url, token }: { url?: string; token?: string }, { env, signal }: Pick<CommandIo, 'env' | 'signal'>) {
    const given = url ?? (env.CALLPLANE_URL || 'http://127.0.0.1:4747')
    if (!/^https?:\/\//i.test(given) || !URL.canParse(given))
      throw usageFault(`"${given}" is not the address of a server. Write it as http://127.0.0.1:4747.`)
    this.url = given.replace(/\/+$/, '')
    this.signal = signal
    this.calling = callingAt(this.url, token ?? (env.CALLPLANE_TOKEN || undefined))
    this.fetcher = fetcherOf(this.calling)
    this.#readRegistry = createRegistryReader(this.fetcher)
  }

  /** Sends a call once: a person who sees the failure decides what to do. */
  send(call: OutgoingCall): Promise<Received> {
    return this.calling.transport.send(call, this.signal)
  }

  /** Follows a call where its server says. Another server gets no token. */
  callingAt(address: string): Calling {
    if (new URL(address).origin === new URL(this.url).origin) return this.calling
    return callingAt(address.replace(/\/ops\/[^/]*$/, ''))
  }

  /** Fetches from a path below the server's address, or from an address. */
  fetch(place: string, init: FetchInit = {}): Promise<Response> {
    const address = new URL(place.startsWith('/') ? this.url + place : place)
    return this.fetcher.fetch(address, { ...init, signal: this.signal })
  }

  async registry(): Promise<readonly RegistryEntry[]> {
    const { operations } = await this.#readRegistry(this.signal)
    return operations.filter(({ removed }) => removed !== true)
  }

  /** The address where a call can be polled. */
  pollAddress({ requestId, location }: Envelope): string {
    return this.fetcher.resolve(location?.uri ?? `ops/${encodeURIComponent(requestId)}`).href
  }
}

function callingAt(url: string, token?: string): Calling {
  const transport = createHttpTransport({ url, ...(token !== undefined && { token }) })
  return new Calling(transport, { retries: 0 }, systemClock, {})
}
