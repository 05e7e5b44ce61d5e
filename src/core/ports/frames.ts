/**
 * The ports between streams and the carriers that bring their frames to a reader. A carrier offers a transport; the
 * engine runs the handler and sends each encoded frame into the channel of the reader.
 */
import type { Fault } from '../fault.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import type { FrameBytes, MediaTrack } from '../operation/stream.ts'

/** The way to one reader. */
export interface FrameChannel {
  /**
   * Aborts when the reader is gone. Frames sent after that are discarded. If the reason is a fault, no other reader can
   * go on with the stream, and it ends with the fault.
   */
  readonly signal: AbortSignal
  /**
   * Sends one frame. Frames leave in the order of the calls. Returns a promise if the reader has no room for another
   * frame now; it resolves when there is room, or when the reader is gone. It never rejects. A channel gathers the
   * frames of one turn of the event loop, and has no room after 64 of them: a handler that never waits would otherwise
   * stop the process.
   */
  send(frame: FrameBytes): void | Promise<void>
  /** The stream has ended: in order, or with a fault. Called once, and not after the reader is gone. */
  end(fault?: Fault): void | Promise<void>
  /**
   * Resolves when it is known of every frame so far whether it was sent, or when the reader is gone. No promise: it is
   * known. Absent if `send` knows it.
   */
  flushed?(): void | Promise<void>
  /**
   * The last frames, for a caller that reads the result of the stream later. They are stored with a regular end, so the
   * channel bounds them. Absent if the reader has got the frames.
   */
  last?(): readonly JsonValue[]
  /** Sends one frame of audio or video. Only for transports with media tracks. */
  sendTrack?(frame: { bytes: Uint8Array; timestampMs: number; keyframe: boolean }): void | Promise<void>
}

/** A stream that is about to begin. */
export interface NewStream {
  /** The id of the instance. */
  readonly id: string
  readonly requestId: string
  /** The caller's session, or one made for this stream. */
  readonly sessionId: string
  /** The full name of the operation, `v1:device.watch`. */
  readonly operation: string
  readonly encoding: string
  /** True if every frame begins with an integrity header. */
  readonly sealed: boolean
  /** `http://host:port` at which the caller reached this server. */
  readonly origin: string
  /** The caller that subscribes, as `ownerKey` names it. Several streams of one owner may share a connection. */
  readonly owner: string
  readonly track?: MediaTrack
  /** What the caller sent for this transport, such as a WebRTC offer. */
  readonly details?: JsonObject
  /**
   * Claims a name in this transport for the stream, until its end. False if another stream has it, also one of another
   * caller or on another node.
   */
  claim(name: string): Promise<boolean>
}

/** Where a reader finds a stream. */
export interface StreamPlace {
  /** The transport at the location, if it is not the one that made the place. */
  transport?: string
  /** An absolute URI. */
  location: string
  /** Further facts for the reader, such as a WebRTC answer. */
  details?: JsonObject
  /** Opens the channel from this node. Absent if the reader connects to a node, with a ticket or its own credential. */
  open?(): FrameChannel | Promise<FrameChannel>
  /** The stream does not begin after all. */
  discard?(): void
}

/** A transport on which readers receive frames. */
export interface StreamTransport {
  /** As callers know it, such as `wss`. */
  readonly name: string
  /** True if its channels have `sendTrack`. */
  readonly tracks?: true
  /** Throws a fault if the transport cannot carry this stream. */
  place(stream: NewStream): StreamPlace | Promise<StreamPlace>
}

/** The transports of this server, by name, in order of preference. Carriers add and remove theirs. */
export interface StreamTransports {
  get(name: string): StreamTransport | undefined
  names(): readonly string[]
}

/** What a caller wants of a stream. Names are in order of preference. */
export interface StreamWish {
  transports?: readonly string[]
  encodings?: readonly string[]
  /** The transport of the connection that made the call. It is used if the caller names no other. */
  own?: StreamTransport
  /** What the caller sent for each transport, by the transport's name. */
  details?: Readonly<Record<string, JsonObject>>
  /** How the caller reached this server. */
  origin: string
}

/** A stream as its reader sees it. */
export interface OpenStream {
  readonly id: string
  readonly requestId: string
  readonly encoding: string
  /** True if every frame begins with an integrity header. */
  readonly sealed: boolean
}

/** A reader that connects to a stream: with the ticket of the reply, or with the caller's own credential. */
export interface StreamReader {
  /** The id of the instance, from the location. */
  readonly id: string
  readonly ticket?: string
  /** The sequence number of the last frame that the reader has. Needs integrity. */
  readonly after?: number
  /** Called once the reader is accepted. */
  open(stream: OpenStream): FrameChannel
}
