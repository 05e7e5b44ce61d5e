/**
 * One session on one WebSocket. Messages are handed to the session in order, a bounded number in each turn of the event
 * loop, so that one peer cannot block the others.
 */
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Presented } from '../../core/ports/guard.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Message, OpenSession } from '../../core/ports/session.ts'
import { Link, MAX_IN_FLIGHT } from '../../wire/messages/link.ts'
import { SharedChannels } from './frames.ts'
import { CLOSE, peerFault, type ServerSocket } from './socket.ts'
import { BINARY, type SocketWriter, TEXT } from './writer.ts'

/** The most messages of one peer that are handled in one turn of the event loop. */
const MESSAGES_PER_TURN = 64

export interface SessionSocketParts {
  open: OpenSession
  peer: Presented
  /** Called when a message identifies the peer. Absent if it is known. */
  identified?: (() => void) | undefined
  origin: string
  /** Where the streams of this connection can be read on a socket of their own. */
  dedicated: StreamTransport
  /** True if messages are sent as bytes. Otherwise they are sent as text. */
  binary: boolean
  maxBytes: number
  messagesPerSecond: number
  clock: Clock
  log: Log
}

export class SessionSocket {
  readonly #socket: ServerSocket
  readonly #link: Link
  readonly #messagesPerSecond: number
  readonly #clock: Clock
  /**
   * Messages that arrived while there was no room. One read from the socket may contain thousands of small messages.
   */
  #waiting: Message[] = []
  #isPaused = false
  #inTurn = 0
  #inSecond = 0
  #secondEndsAt = 0
  #isGone = false

  constructor(socket: ServerSocket, writer: SocketWriter, parts: SessionSocketParts) {
    const { open, peer, origin, log, maxBytes, identified } = parts
    const bytesOpcode = parts.binary ? BINARY : TEXT
    const frames = new SharedChannels(parts.dedicated, writer)
    this.#socket = socket
    this.#messagesPerSecond = parts.messagesPerSecond
    this.#clock = parts.clock
    this.#link = new Link({
      open,
      peer,
      origin,
      log,
      frames,
      identified,
      limits: { maxBytes, maxInFlight: MAX_IN_FLIGHT },
      transmit(message, about) {
        const full = writer.send(typeof message === 'string' ? TEXT : bytesOpcode, message)
        if (about !== undefined) frames.release(about)
        return full
      },
    })
    socket.beforeClose = (code) => {
      const fault = peerFault(code, maxBytes)
      if (fault) void this.#link.refuse(fault)
    }
    let received = 0
    socket.received = received
    socket.on('message', (data, isBinary) => {
      socket.isAlive = true
      socket.received = ++received
      this.#take(isBinary ? (data as Buffer) : String(data))
    })
    socket.afterClose = () => {
      this.#isGone = true
      this.#waiting = []
      frames.leave()
      void this.#link.leave()
    }
  }

  /** Waits for responses and sends them, until `cut` aborts. Then closes the connection. */
  async close(cut: AbortSignal): Promise<void> {
    const stopped = new Promise<void>((resolve) => cut.addEventListener('abort', () => resolve(), { once: true }))
    if (!cut.aborted) await Promise.race([this.#link.finish(), stopped])
    await this.#link.close(cut)
    this.#socket.close(CLOSE.leaving, 'The server is shutting down.')
  }

  #take(message: Message): void {
    if (this.#isPaused) this.#waiting.push(message)
    else {
      this.#receive(message)
      this.#rest()
    }
  }

  #receive(message: Message): void {
    if (this.#inTurn++ === 0) setImmediate(() => (this.#inTurn = 0))
    this.#inSecond++
    void this.#link.receive(message)
  }

  /** Stops reading if there is no room for another message now. */
  #rest(): void {
    const pause = this.#link.room() ?? this.#pace()
    if (!pause) return
    this.#isPaused = true
    this.#socket.pause()
    void pause.then(() => this.#goOn())
  }

  #goOn(): void {
    this.#isPaused = false
    let next = 0
    while (next < this.#waiting.length && !this.#isPaused && !this.#isGone) {
      this.#receive(this.#waiting[next++] as Message)
      this.#rest()
    }
    this.#waiting = this.#waiting.slice(next)
    if (!this.#isPaused) this.#socket.resume()
  }

  #pace(): Promise<void> | undefined {
    const now = this.#clock.monotonicMs()
    if (now >= this.#secondEndsAt) {
      this.#secondEndsAt = now + 1_000
      // The message that was just received.
      this.#inSecond = 1
    }
    if (this.#inSecond >= this.#messagesPerSecond) {
      return new Promise((resolve) => void this.#clock.schedule(this.#secondEndsAt - now, resolve))
    }
    if (this.#inTurn < MESSAGES_PER_TURN) return undefined
    return new Promise((resolve) => setImmediate(resolve))
  }
}
