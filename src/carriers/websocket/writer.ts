/**
 * Writes the messages of a WebSocket. The messages of one turn of the event loop are put into one buffer, with their
 * WebSocket heads, and leave in one write: `ws` writes twice for each message. It relies on connections without
 * compression, whose messages go straight to the socket.
 */
import type { Duplex } from 'node:stream'
import type { Turning, Turns } from './turns.ts'

export const TEXT = 0x81
export const BINARY = 0x82

/** The longest head of a message, and the number of a channel. */
const MAX_HEAD_BYTES = 10
const CHANNEL_BYTES = 4
/** A buffer of this size is written before the turn ends. */
const WRITE_BYTES = 64 * 1024
const FIRST_BYTES = 1024
/** Texts up to this length reserve room for three bytes per character. Longer ones are measured first. */
const MEASURED_LENGTH = 4096

export interface WriterOptions {
  turns: Turns
  /** Maximum of waiting bytes. Above it, the connection is cut. */
  maxBufferedBytes: number
}

export class SocketWriter implements Turning {
  readonly #socket: Duplex
  readonly #options: WriterOptions
  #buffer: Buffer | undefined
  #used = 0
  /** The size of the last buffer: most turns of a stream are alike. */
  #usual = FIRST_BYTES
  #isAdded = false
  #isClosed = false
  /** Pending while the socket has no room. */
  #full: PromiseWithResolvers<void> | undefined
  #turnEnd: PromiseWithResolvers<void> | undefined
  /** Counts the turns in which messages left. */
  turn = 0

  constructor(socket: Duplex, options: WriterOptions) {
    this.#socket = socket
    this.#options = options
  }

  /**
   * Sends one message. `channel` is put before its payload. Returns a promise while the socket is full; it resolves when
   * there is room again, or when the peer is gone.
   */
  send(opcode: number, payload: string | Uint8Array, channel?: number): Promise<void> | undefined {
    if (this.#isClosed) return undefined
    if (typeof payload === 'string') this.#putText(opcode, payload, channel)
    else this.#putBytes(opcode, payload, channel)
    if (this.#used >= WRITE_BYTES) this.flush()
    else if (!this.#isAdded) {
      this.#isAdded = true
      this.#options.turns.add(this)
    }
    if (this.#socket.writableLength > this.#options.maxBufferedBytes) this.#socket.destroy()
    return this.#full?.promise
  }

  /** Resolves when this turn of the event loop has ended and the socket has room. */
  nextTurn(): Promise<void> {
    if (!this.#isAdded) return this.#full?.promise ?? Promise.resolve()
    this.#turnEnd ??= Promise.withResolvers()
    return this.#turnEnd.promise
  }

  /** True while messages wait for the peer. Pings and pongs count, which `ws` writes itself. */
  get isFull(): boolean {
    return this.#full !== undefined || this.#socket.writableNeedDrain
  }

  endTurn(): void {
    this.#isAdded = false
    this.turn++
    this.flush()
    const ended = this.#turnEnd
    this.#turnEnd = undefined
    if (!ended) return
    if (this.#full) void this.#full.promise.then(ended.resolve)
    else ended.resolve()
  }

  /** Writes the messages of this turn. */
  flush(): void {
    const buffer = this.#buffer
    if (!buffer || this.#isClosed) return
    this.#buffer = undefined
    this.#usual = Math.max(FIRST_BYTES, buffer.length > this.#used * 2 ? this.#used * 2 : buffer.length)
    const bytes = buffer.subarray(0, this.#used)
    this.#used = 0
    if (!this.#socket.write(bytes)) this.#waitForRoom()
  }

  /** Writes the remaining messages. Later ones are discarded: no message may follow a close frame. */
  end(): void {
    this.flush()
    this.#isClosed = true
  }

  /** The peer is gone. */
  discard(): void {
    this.#isClosed = true
    this.#buffer = undefined
    this.#makeRoom()
    this.#turnEnd?.resolve()
    this.#turnEnd = undefined
  }

  #putText(opcode: number, text: string, channel: number | undefined): void {
    const { length } = text
    const prefix = channel === undefined ? 0 : CHANNEL_BYTES
    const most = length > MEASURED_LENGTH ? Buffer.byteLength(text) : length * 3
    const buffer = this.#reserve(MAX_HEAD_BYTES + prefix + most)
    // Measuring a short text costs as much as writing it. So the head is expected to be that of a text in ASCII.
    const expected = headBytes(length + prefix)
    const start = this.#used + expected + prefix
    const written = buffer.write(text, start)
    const missing = headBytes(written + prefix) - expected
    if (missing > 0) buffer.copyWithin(start + missing, start, start + written)
    this.#putHead(buffer, opcode, written, channel)
    this.#used = start + missing + written
  }

  #putBytes(opcode: number, bytes: Uint8Array, channel: number | undefined): void {
    const prefix = channel === undefined ? 0 : CHANNEL_BYTES
    const { length } = bytes
    const buffer = this.#reserve(MAX_HEAD_BYTES + prefix + length)
    const start = this.#used + headBytes(length + prefix) + prefix
    buffer.set(bytes, start)
    this.#putHead(buffer, opcode, length, channel)
    this.#used = start + length
  }

  /** RFC 6455, "Base Framing Protocol". */
  #putHead(buffer: Buffer, opcode: number, payloadBytes: number, channel: number | undefined): void {
    const length = payloadBytes + (channel === undefined ? 0 : CHANNEL_BYTES)
    let at = this.#used
    buffer[at++] = opcode
    if (length < 126) buffer[at++] = length
    else if (length < 65_536) {
      buffer[at++] = 126
      at = buffer.writeUInt16BE(length, at)
    } else {
      buffer[at++] = 127
      at = buffer.writeUInt32BE(Math.floor(length / 2 ** 32), at)
      at = buffer.writeUInt32BE(length >>> 0, at)
    }
    if (channel !== undefined) buffer.writeUInt32BE(channel, at)
  }

  #reserve(bytes: number): Buffer {
    const before = this.#buffer
    const needed = this.#used + bytes
    if (before && before.length >= needed) return before
    const buffer = Buffer.allocUnsafe(Math.max(needed, before ? before.length * 2 : this.#usual))
    if (before) before.copy(buffer, 0, 0, this.#used)
    this.#buffer = buffer
    return buffer
  }

  #waitForRoom(): void {
    if (this.#full) return
    this.#full = Promise.withResolvers()
    this.#socket.once('drain', () => this.#makeRoom())
  }

  #makeRoom(): void {
    this.#full?.resolve()
    this.#full = undefined
  }
}

function headBytes(length: number): number {
  if (length < 126) return 2
  return length < 65_536 ? 4 : 10
}
