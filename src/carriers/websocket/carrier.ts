/**
 * WebSockets, on the upgrade requests of an HTTP server: sessions of messages, and sockets that carry one stream. The
 * caller of this module names the paths, and decides who may connect.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Server, WebSocketServer } from 'ws'
import { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { FrameChannel, OpenStream, StreamTransport } from '../../core/ports/frames.ts'
import type { Presented } from '../../core/ports/guard.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import { cborSessions } from './cbor-session.ts'
import { DedicatedChannel } from './frames.ts'
import { Heartbeat } from './heartbeat.ts'
import { SessionSocket } from './session-socket.ts'
import { CLOSE, ServerSocket, type SocketOwner } from './socket.ts'
import { Turns } from './turns.ts'
import { SocketWriter } from './writer.ts'

/** Subprotocols of sessions. Without one, messages are JSON. */
const JSON_MESSAGES = 'callplane.json'
const CBOR_MESSAGES = 'callplane.cbor'

/** Messages from the reader of a stream are discarded. */
const MAX_READER_BYTES = 4096

/** An upgrade request. */
export interface SocketRequest extends Presented {
  /** Without the question mark. */
  readonly query: string
  /** `http://host:port` as the client reached the server. */
  readonly origin: string
}

export interface Admitted {
  peer: Presented
  /** False if the peer has presented no credential yet. Then it has to send one soon. */
  isKnown: boolean
}

export interface WebSocketOptions {
  session: OpenSession
  /** Returns the credentials of a session, and whether they identify its peer. Throws a fault if they are not valid. */
  admit(request: SocketRequest): Promise<Admitted>
  /** Connects the reader of the stream with this id. Throws a fault if it may not read. */
  read(request: SocketRequest, id: string, open: (stream: OpenStream) => FrameChannel): Promise<void>
  /** Names the place at which readers connect. */
  dedicated: StreamTransport
  /** Limit for one message of a session. A message of more than twice this size also ends the connection. */
  maxBytes: number
  clock: Clock
  log: Log
  /** Default: 100,000. A session that sends more waits. */
  messagesPerSecond?: number
  /** A connection ends if this much waits for its peer (default: 64 MiB). */
  maxBufferedBytes?: number
  /**
   * A peer that does not respond to a ping before the next one is gone (default: 30,000). A message that has begun before
   * a ping must be complete before the next one.
   */
  pingMs?: number
  /** How long a peer may take to respond to a close frame (default: 10,000). */
  closeMs?: number
  /** How long a peer without a credential may take to send one (default: 10,000). */
  identifyMs?: number
  /** How many sessions may have no known peer (default: 2,500). Further ones are refused. */
  maxUnknown?: number
}

/** The socket of an upgrade request, and how to refuse it with a response. */
export interface UpgradedSocket {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  from: SocketRequest
  refuse(fault: Fault, headers?: Readonly<Record<string, string>>): void
}

export interface WebSocketCarrier extends Carrier {
  takeSession(upgraded: UpgradedSocket): Promise<void>
  takeReader(upgraded: UpgradedSocket, id: string): Promise<void>
}

export function createWebSocketCarrier(options: WebSocketOptions): WebSocketCarrier {
  const { log, clock, maxBytes, dedicated, messagesPerSecond = 100_000, maxBufferedBytes = 64 * 1024 * 1024 } = options
  const { pingMs = 30_000, closeMs = 10_000, identifyMs = 10_000, maxUnknown = 2_500 } = options
  const shared = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    closeTimeout: closeMs,
    WebSocket: ServerSocket,
  }
  const sessions = new WebSocketServer({ ...shared, maxPayload: maxBytes * 2, handleProtocols: chooseProtocol })
  const readers = new WebSocketServer({ ...shared, maxPayload: MAX_READER_BYTES })
  const withCbor = cborSessions(options.session, maxBytes)
  const turns = new Turns()
  const heartbeat = new Heartbeat(pingMs)
  const open = new Map<ServerSocket, SessionSocket | undefined>()
  /** Sessions whose peer is not known yet, with the function that cancels their deadline. */
  const unknown = new Map<ServerSocket, () => void>()
  const writing = { turns, maxBufferedBytes }
  const owner: SocketOwner = {
    log,
    closed(socket) {
      open.delete(socket)
      heartbeat.remove(socket)
      identified(socket)
    },
  }
  let isClosing = false

  function expectCredential(socket: ServerSocket): void {
    const close = () => socket.close(CLOSE.unknown, 'No credential came in time.')
    unknown.set(socket, clock.schedule(identifyMs, close))
  }

  function identified(socket: ServerSocket): void {
    unknown.get(socket)?.()
    unknown.delete(socket)
  }

  /** `undefined` if the request is no valid handshake, which is refused, or its client is gone. */
  function upgrade(by: Server<typeof ServerSocket>, { request, socket, head, refuse }: UpgradedSocket) {
    let upgraded: { socket: ServerSocket; writer: SocketWriter } | undefined
    // `ws` calls back before it returns.
    const invalid = ({ message }: Error) => refuse(invalidHandshake(message), { 'Sec-WebSocket-Version': '13, 8' })
    by.on('wsClientError', invalid)
    by.handleUpgrade(request, socket, head, (accepted) => {
      const writer = new SocketWriter(socket, writing)
      accepted.begin(socket, writer, owner)
      heartbeat.add(accepted)
      upgraded = { socket: accepted, writer }
    })
    by.off('wsClientError', invalid)
    return upgraded
  }

  async function refusing(upgraded: UpgradedSocket, act: () => Promise<void>): Promise<void> {
    try {
      if (isClosing) throw closed()
      await act()
    } catch (thrown) {
      if (!(thrown instanceof Fault)) log.error({ err: thrown }, 'an upgrade failed')
      upgraded.refuse(Fault.from(thrown))
    }
  }

  return {
    takeSession: (upgraded) =>
      refusing(upgraded, async () => {
        const { peer, isKnown } = await options.admit(upgraded.from)
        if (isClosing) throw closed()
        if (!isKnown && unknown.size >= maxUnknown) throw tooManyUnknown()
        const accepted = upgrade(sessions, upgraded)
        if (!accepted) return
        const { socket, writer } = accepted
        const binary = socket.protocol === CBOR_MESSAGES
        const { origin } = upgraded.from
        const session = binary ? withCbor : options.session
        const parts = { open: session, peer, origin, dedicated, binary, maxBytes, messagesPerSecond, clock, log }
        const noted = isKnown ? parts : { ...parts, identified: () => identified(socket) }
        open.set(socket, new SessionSocket(socket, writer, noted))
        if (!isKnown) expectCredential(socket)
      }),
    takeReader: (upgraded, id) =>
      refusing(upgraded, () =>
        options.read(upgraded.from, id, () => {
          const accepted = upgrade(readers, upgraded)
          if (!accepted) return GONE
          const { socket, writer } = accepted
          open.set(socket, undefined)
          return new DedicatedChannel(socket, writer)
        }),
      ),
    async listen() {},
    async close(graceMs) {
      isClosing = true
      const cut = AbortSignal.timeout(graceMs)
      await Promise.all([...open].map(([socket, session]) => leave(socket, session, cut)))
    },
  }
}

/** Closes in order. A peer that is still connected when `cut` aborts is cut off. */
async function leave(socket: ServerSocket, session: SessionSocket | undefined, cut: AbortSignal): Promise<void> {
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  if (session) await session.close(cut)
  else socket.close(CLOSE.leaving, 'The server is shutting down.')
  const terminate = () => socket.terminate()
  if (cut.aborted) terminate()
  else cut.addEventListener('abort', terminate, { once: true })
  await gone
  cut.removeEventListener('abort', terminate)
}

/** The channel of a reader that left before it was accepted. */
const GONE: FrameChannel = { signal: AbortSignal.abort(), send() {}, end() {} }

/** The first subprotocol of the peer's list that the server knows. */
function chooseProtocol(offered: Set<string>): string | false {
  for (const name of offered) if (name === JSON_MESSAGES || name === CBOR_MESSAGES) return name
  return false
}

function invalidHandshake(reason: string): Fault {
  return new Fault('malformed', `This is not a valid WebSocket handshake: ${reason}.`)
}

function tooManyUnknown(): Fault {
  const message = 'Too many peers without a credential are connected. Connect with a credential, or try again later.'
  return new Fault('unavailable', message, { code: 'TOO_MANY_CONNECTIONS', retryAfterMs: 1_000 })
}

function closed(): Fault {
  return new Fault('unavailable', 'The server is shutting down. Connect again in a moment.', {
    code: 'SHUTTING_DOWN',
    retryAfterMs: 1_000,
  })
}
