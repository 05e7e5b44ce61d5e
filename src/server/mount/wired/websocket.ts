/** OpenCALL over WebSocket, on the HTTP port. On by default where the package is installed. */
import { MAX_CONNECTIONS } from '../../../carriers/http/index.ts'
import type { SocketRequest } from '../../../carriers/websocket/index.ts'
import { Fault } from '../../../core/fault.ts'
import { connectReader, SOCKET_TRANSPORT, streamPath, withAccessToken } from '../../../protocols/opencall/index.ts'
import type { Base } from '../../build/base.ts'
import type { ServerOptions } from '../../options/options.ts'
import type { WiredCarrier } from './wired.ts'

const HOW_TO = 'npm install ws'

export async function prepareWebSocket<App>(
  { websocket }: ServerOptions<App>,
  { log }: Base,
): Promise<WiredCarrier | undefined> {
  if (websocket === false) return undefined
  const library = await loadCarrier()
  if (library) return wire(library)
  if (websocket) {
    throw new Fault('malformed', `WebSocket needs the package ws. Install it: ${HOW_TO}`, { code: 'PACKAGE_MISSING' })
  }
  log.info({ install: HOW_TO }, 'WebSocket is off, because the package ws is not installed')
  return undefined
}

type Library = typeof import('../../../carriers/websocket/index.ts')

/** `undefined` if the package is not installed. */
async function loadCarrier(): Promise<Library | undefined> {
  try {
    return await import('../../../carriers/websocket/index.ts')
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND'
}

function wire({ createWebSocketCarrier }: Library): WiredCarrier {
  return {
    name: 'websocket',
    transport: SOCKET_TRANSPORT,
    open({ env, sizes, calls, identify, session }) {
      const carrier = createWebSocketCarrier({
        session: session(),
        async admit(request) {
          const peer = withAccessToken(request, request.query)
          return { peer, isKnown: (await identify(peer)()) !== undefined }
        },
        read: (request, id, open) =>
          connectReader({ calls, identify }, { ...request, ...withAccessToken(request, request.query) }, id, open),
        dedicated: SOCKET_TRANSPORT,
        maxBytes: sizes.envelopeBytes,
        // The others stay free for HTTP.
        maxUnknown: MAX_CONNECTIONS / 4,
        clock: env.clock,
        log: env.log,
      })
      const protocol = 'websocket'
      return {
        ...carrier,
        upgrades: [
          {
            path: '/call',
            protocol,
            take: (request, socket, head, { refuse, ...facts }) =>
              void carrier.takeSession({ request, socket, head, refuse, from: requestOf(request, facts) }),
          },
          {
            path: streamPath('{id}'),
            protocol,
            take: (request, socket, head, { refuse, params, ...facts }) =>
              void carrier.takeReader(
                { request, socket, head, refuse, from: requestOf(request, facts) },
                params.id ?? '',
              ),
          },
        ],
      }
    },
  }
}

function requestOf(
  { headers }: { headers: NodeJS.Dict<string | string[]> },
  { query, origin }: Pick<SocketRequest, 'query' | 'origin'>,
): SocketRequest {
  return { query, origin, header: (name) => headers[name] as string | undefined }
}
