/** The page's server: the typed client of the package, with the session's token, at an address relative to the page. */

import { createClient } from '../../../src/client/calls.ts'
import { isFault } from '../../../src/client/fault.ts'
import { createRegistryReader, type Registry } from '../../../src/client/registry.ts'
import type { Client, SmallClient } from '../../../src/client/types.ts'
import { Session } from './session.ts'
import type { ArgsOf, OperationName, ResultOf, ServerOperations, WhoAmI } from './types.ts'

export interface Server {
  /** The address of the server, with the path that it is mounted at, without a slash at the end. */
  readonly base: string
  readonly session: Session
  readonly client: SmallClient<ServerOperations>
  /** The client that also reads results in chunks. It is loaded when it is first needed. */
  fullClient(): Promise<Client<ServerOperations>>
  /** Calls one of the server's own operations. */
  call<N extends OperationName>(name: N, args: ArgsOf<N>, signal?: AbortSignal): Promise<ResultOf<N>>
  registry(signal?: AbortSignal): Promise<Registry>
  /** A request of another kind, with the session's token. */
  fetch(path: string, init?: RequestInit): Promise<Response>
}

/** The page is at `{base}/explorer/` or `{base}/console/`. */
export function baseOf(address: string): string {
  const url = new URL('..', address)
  return (url.origin + url.pathname).replace(/\/$/, '')
}

export function createConsoleServer(base: string, storage: Storage | undefined): Server {
  const session = new Session({ base, storage, whoami: () => whoami(server) })
  const options = {
    url: base,
    token: (refused?: string) => session.token(refused),
    retries: 1,
    onWarning: () => {},
  }
  const client = createClient<ServerOperations>(options)
  const registry = createRegistryReader({
    base,
    resolve: (uri) => new URL(uri),
    token: () => session.token(),
    fetch: (address, { headers, signal }) =>
      server.fetch(address.href.slice(base.length), { headers: { ...headers }, signal: signal ?? null }),
  })
  const server: Server = {
    base,
    session,
    client,
    call: <N extends OperationName>(name: N, args: ArgsOf<N>, signal?: AbortSignal) =>
      (client.call as UntypedCall)(name, args, signal && { signal }) as Promise<ResultOf<N>>,
    fullClient: async () => (await import('../../../src/client/index.ts')).createClient<ServerOperations>(options),
    registry,
    async fetch(path, init = {}) {
      const send = (token: string | undefined) => {
        const headers = new Headers(init.headers)
        if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
        return fetch(`${base}${path}`, { ...init, headers })
      }
      const token = await session.token()
      const response = await send(token)
      if (response.status !== 401 || token === undefined) return response
      const renewed = await session.token(token)
      return renewed === undefined || init.body instanceof ReadableStream ? response : send(renewed)
    },
  }
  return server
}

type UntypedCall = (name: string, args: unknown, options?: { signal: AbortSignal }) => Promise<unknown>

/** A server without `whoami` has no console, and its explorer works without it. */
async function whoami(server: Server): Promise<WhoAmI> {
  try {
    return await server.call('v1:callplane.whoami', {})
  } catch (thrown) {
    if (!isFault(thrown, 'UNKNOWN_OP')) throw thrown
    return {
      caller: { owner: '', tenant: '' },
      scopes: [],
      mode: 'read-write',
      server: { name: 'callplane', version: '', startedAt: '' },
      features: [],
    }
  }
}
