/**
 * A client in the same process. It goes through the routes of OpenCALL without a socket, so a call is admitted,
 * validated, recorded and answered as any other. The program names the caller, and no credential is checked.
 */
import { createHttpTransport } from '../../client/full-http.ts'
import { createClient } from '../../client/index.ts'
import { readEvents } from '../../client/streams/events.ts'
import type { StreamWays } from '../../client/streams/ways.ts'
import type { Transport } from '../../client/transport.ts'
import type { Client } from '../../client/types.ts'
import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'

/** Who calls. The program vouches for it: there is no credential. */
export type TrustedCaller = Pick<Caller, 'subject'> & Partial<Caller>

/** Distinguishes these callers from those with the same subject and a credential. */
const ISSUER = 'in-process'

export function trusted(given: TrustedCaller, tenant = ANONYMOUS.tenant): Caller {
  return { tenant, issuer: ISSUER, scopes: [], ...given }
}

/** The address of the server for its own client. It is a private one, so that the server's results may be, too. */
const ORIGIN = 'http://in-process.internal'

export function createInProcessClient<Ops>(answer: (request: Request) => Promise<Response>): Client<Ops> {
  const http = createHttpTransport({
    url: ORIGIN,
    async fetch(input, init) {
      const request = new Request(input, init)
      if (new URL(request.url).origin !== ORIGIN) return fetch(request)
      // Only responses from the network have an address of their own.
      return Object.defineProperty(await answer(request), 'url', { value: request.url })
    },
  })
  const { fetcher, watch } = http
  const transport: Transport = {
    send: (call, signal) => http.send(call, signal),
    next: (before, signal) => http.next(before, signal),
    poll: (requestId, signal) => http.poll(requestId, signal),
    cancel: (requestId, signal) => http.cancel(requestId, signal),
    close: () => http.close(),
    ways: streamWays,
    ...(fetcher && { fetcher }),
    ...(watch && { watch }),
  }
  return createClient<Ops>({ transport })
}

/** Every stream on the HTTP port can be read as events. */
const streamWays: StreamWays = async function* () {
  yield { wish: { transport: ['wss', 'sse'], encoding: ['json', 'binary'] }, read: readEvents }
}
