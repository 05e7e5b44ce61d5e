/** The readers of streams: on a socket of their own, or on a channel of a socket that also carries messages. */
import type { Fault } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel, NewStream, StreamPlace, StreamTransport } from '../../core/ports/frames.ts'
import { CLOSE, closeReason, type ServerSocket } from './socket.ts'
import { BINARY, type SocketWriter, TEXT } from './writer.ts'

/** A sender must wait after this many frames in one turn of the event loop. */
const FRAMES_PER_TURN = 64

/** Counts the frames of a turn. */
class Room {
  readonly #writer: SocketWriter
  #turn = -1
  #frames = 0

  constructor(writer: SocketWriter) {
    this.#writer = writer
  }

  /** Call it after each frame, with the result of the writer. */
  after(full: Promise<void> | undefined): void | Promise<void> {
    const { turn } = this.#writer
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#frames = 0
    }
    if (++this.#frames < FRAMES_PER_TURN) return full
    return this.#writer.nextTurn()
  }
}

/** A socket that carries one stream. Frames have nothing before them; the close frame tells how the stream ended. */
export class DedicatedChannel implements FrameChannel {
  readonly #socket: ServerSocket
  readonly #writer: SocketWriter
  readonly #room: Room
  readonly #gone = new AbortController()

  constructor(socket: ServerSocket, writer: SocketWriter) {
    this.#socket = socket
    this.#writer = writer
    this.#room = new Room(writer)
    socket.afterClose = () => this.#gone.abort()
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.#gone.signal.aborted) return
    return this.#room.after(this.#writer.send(typeof frame === 'string' ? TEXT : BINARY, frame))
  }

  end(fault?: Fault): void {
    if (fault) this.#socket.close(CLOSE.failed, closeReason(`${fault.code}: ${fault.message}`))
    else this.#socket.close(CLOSE.done, 'complete')
  }
}

/** The streams of a socket that also carries messages. The number of its channel is before every frame. */
export class SharedChannels implements StreamTransport {
  readonly name: string
  readonly #place: StreamTransport['place']
  readonly #writer: SocketWriter
  /** Channels whose frames wait for the message about their stream, by its request id. */
  readonly #held = new Map<string, Set<SharedChannel>>()
  readonly #open = new Set<SharedChannel>()
  #last = 0

  /** `dedicated` names the place at which a reader can connect again. */
  constructor(dedicated: StreamTransport, writer: SocketWriter) {
    this.name = dedicated.name
    this.#place = (stream) => dedicated.place(stream)
    this.#writer = writer
  }

  async place(stream: NewStream): Promise<StreamPlace> {
    const { location } = await this.#place(stream)
    // Zero is no channel: in a session with CBOR it marks a message.
    this.#last = (this.#last % 0xff_ff_ff_ff) + 1
    const channel = this.#last
    const reserved = new SharedChannel(channel, this.#writer, () => this.#forget(stream.requestId, reserved))
    this.#open.add(reserved)
    const held = this.#held.get(stream.requestId) ?? new Set()
    this.#held.set(stream.requestId, held.add(reserved))
    return {
      location,
      details: { channel },
      open: () => reserved,
      discard: () => this.#forget(stream.requestId, reserved),
    }
  }

  /** The message about this request id has been sent. */
  release(requestId: string): void {
    const held = this.#held.get(requestId)
    if (!held) return
    this.#held.delete(requestId)
    for (const channel of held) channel.release()
  }

  /** The peer is gone. */
  leave(): void {
    for (const channel of this.#open) channel.leave()
    this.#open.clear()
    this.#held.clear()
  }

  #forget(requestId: string, channel: SharedChannel): void {
    this.#open.delete(channel)
    const held = this.#held.get(requestId)
    if (held?.delete(channel) && held.size === 0) this.#held.delete(requestId)
  }
}

class SharedChannel implements FrameChannel {
  readonly #channel: number
  readonly #writer: SocketWriter
  readonly #room: Room
  readonly #forget: () => void
  readonly #gone = new AbortController()
  /** Frames before the message about the stream has left. */
  #held: FrameBytes[] | undefined = []
  readonly #released = Promise.withResolvers<void>()
  #hasEnded = false

  constructor(channel: number, writer: SocketWriter, forget: () => void) {
    this.#channel = channel
    this.#writer = writer
    this.#room = new Room(writer)
    this.#forget = forget
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.#gone.signal.aborted) return
    if (!this.#held) return this.#room.after(this.#writer.send(BINARY, frame, this.#channel))
    this.#held.push(frame)
    return this.#released.promise
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const frame of held) this.#writer.send(BINARY, frame, this.#channel)
    this.#released.resolve()
    if (this.#hasEnded) this.#forget()
  }

  /** The session tells the reader of the end: the last message about the stream. */
  end(): void {
    this.#hasEnded = true
    if (!this.#held) this.#forget()
  }

  leave(): void {
    this.#gone.abort()
    this.#released.resolve()
  }
}
