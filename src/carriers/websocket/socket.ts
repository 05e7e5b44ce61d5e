/**
 * A WebSocket of the server, with its writer. Its owner can send a last message before it closes, also when `ws` closes
 * it for an error of the peer. It responds to pings only if the peer reads.
 */
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { messageTooLarge, messageTooSlow } from '../../wire/messages/text.ts'
import type { SocketWriter } from './writer.ts'

/**
 * RFC 6455, "Defined Status Codes", and ours: the stream of this socket has failed, its peer has not said who it is, and
 * a message of it did not arrive in time.
 */
export const CLOSE = { done: 1000, leaving: 1001, failed: 4000, unknown: 4001, slow: 4002 } as const

/** A close frame has room for a reason of this size. */
const MAX_REASON_BYTES = 123

/** What all sockets of a carrier share. */
export interface SocketOwner {
  readonly log: Log
  /** The socket has closed. */
  closed(socket: ServerSocket): void
}

export class ServerSocket extends WebSocket {
  writer: SocketWriter | undefined
  raw: Duplex | undefined
  owner: SocketOwner | undefined
  /** Called before the close frame is sent. `code` is that of the frame. */
  beforeClose: ((code: number | undefined) => void) | undefined
  /** Called when the peer is gone. */
  afterClose: (() => void) | undefined
  /** True if the peer has sent anything since the last ping. */
  isAlive = true
  /** What the peer had read at the last ping. */
  lastRead = 0
  /** The number of messages of the peer. `undefined` if they are discarded. */
  received: number | undefined
  /** The value of `received` at the last ping, if another message had begun then. */
  lastBegun: number | undefined

  /** Called once the socket is open. The listeners are shared: those of a socket's own took 1 kB for each connection. */
  begin(raw: Duplex, writer: SocketWriter, owner: SocketOwner): void {
    this.raw = raw
    this.writer = writer
    this.owner = owner
    this.on('ping', answerPing).on('pong', noteAlive).on('error', logError).on('close', finish)
  }

  /**
   * True if a message has begun and is not complete. A fragmented message can stay so for ever, and its peer may respond
   * to pings meanwhile. `ws` has no public field for it.
   */
  get isMidMessage(): boolean {
    const { _receiver } = this as unknown as { _receiver?: { _fragmented: number; _bufferedBytes: number } }
    return _receiver !== undefined && (_receiver._fragmented !== 0 || _receiver._bufferedBytes > 0)
  }

  override close(code?: number, reason?: string | Buffer): void {
    if (this.readyState === WebSocket.OPEN) {
      this.beforeClose?.(code)
      this.writer?.end()
    }
    super.close(code, reason)
  }
}

/** Pongs are not collected for a peer that does not read. */
function answerPing(this: WebSocket, data: Buffer): void {
  const socket = this as ServerSocket
  socket.isAlive = true
  if (socket.writer?.isFull || socket.readyState !== WebSocket.OPEN) return
  socket.writer?.flush()
  socket.pong(data)
}

function noteAlive(this: WebSocket): void {
  ;(this as ServerSocket).isAlive = true
}

function logError(this: WebSocket, err: Error): void {
  ;(this as ServerSocket).owner?.log.debug({ err }, 'a WebSocket failed')
}

function finish(this: WebSocket): void {
  const socket = this as ServerSocket
  socket.writer?.discard()
  socket.owner?.closed(socket)
  socket.afterClose?.()
}

/** The peer's error for which a connection is closed with this code. */
export function peerFault(code: number | undefined, maxBytes: number): Fault | undefined {
  switch (code) {
    case 1002:
      return new Fault('malformed', 'The data is no valid WebSocket frame. Use a WebSocket library.', {
        code: 'INVALID_FRAME',
      })
    case 1007:
      return new Fault('malformed', 'The message is not UTF-8; encode it as UTF-8 and send it again.', {
        code: 'INVALID_UTF8',
      })
    case 1008:
      return new Fault('malformed', 'The message has too many fragments; send it in fewer.', {
        code: 'TOO_MANY_FRAGMENTS',
      })
    case 1009:
      return messageTooLarge(maxBytes)
    case CLOSE.unknown:
      return new Fault('unauthenticated', 'No credential came in time. Connect again with one, or send it at once.')
    case CLOSE.slow:
      return messageTooSlow()
    default:
      return undefined
  }
}

/** Cut between two characters. */
export function closeReason(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_REASON_BYTES) return text
  let end = MAX_REASON_BYTES
  while (((bytes[end] as number) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
