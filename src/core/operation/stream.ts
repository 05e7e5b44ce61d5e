/** What a developer declares about a stream, and what the engine makes of it. */
import type { JsonObject } from '../json.ts'
import type { Parse } from './operation.ts'

/** OpenCALL's names of transports. A carrier of your own may add others. */
export type TransportName = 'wss' | 'mqtt' | 'kafka' | 'webrtc' | 'quic' | (string & {})

export type FrameEncoding = 'json' | 'cbor' | 'protobuf' | 'binary'

export type FrameIntegrity = 'crc32' | 'sha256'

/** What happens to frames that a slow reader has no room for. */
export type Overflow =
  /** The handler waits. */
  | 'wait'
  /** Only the newest frame is kept. */
  | 'latest'
  /** New frames are dropped. */
  | 'drop'
  /** The stream ends with an error. */
  | 'end'

export interface StreamOptions {
  /** In order of preference (default: every transport of the server). */
  transports?: readonly TransportName[]
  /** In order of preference (default: json). */
  encodings?: readonly FrameEncoding[]
  /** Puts a sequence number and a checksum before every frame, and lets a reader resume (default: false). */
  integrity?: false | FrameIntegrity
  /** Default: `wait`. */
  overflow?: Overflow
  /** Sends frames without validating them, for high rates from code that you trust (default: false). */
  trusted?: boolean
  /** A message type made by @bufbuild/protobuf's generator. Default: derived from the frame schema. */
  message?: unknown
  /** The frames are encoded audio or video, for WebRTC. The handler yields `{ bytes, timestampMs, keyframe }`. */
  track?: MediaTrack
}

export interface MediaTrack {
  kind: 'audio' | 'video'
  /** Such as `VP8` or `opus`. */
  codec: string
}

/** One piece of encoded audio or video. */
export interface TrackFrame {
  bytes: Uint8Array
  timestampMs: number
  keyframe?: boolean
}

/** One encoded frame. */
export type FrameBytes = Uint8Array | string

/** Encodes the frames of one operation. */
export interface FrameWriter {
  encode(frame: unknown): FrameBytes
  /** Puts the integrity header before an encoded frame. Absent without integrity. */
  seal?(seq: number, payload: FrameBytes): Uint8Array
}

/** The stream of an operation, ready to run. */
export interface StreamRules {
  /** Absent: every transport of the server. */
  readonly transports?: readonly string[]
  readonly encodings: readonly string[]
  readonly integrity: false | FrameIntegrity
  readonly overflow: Overflow
  /** The name of the frame schema: its `$id`, or `{operation}#frame`. */
  readonly schemaName: string
  readonly schema: JsonObject
  /** Absent for frames that are trusted or bytes. */
  readonly parseFrame?: Parse
  /** The `.proto` text of the frames, if they can be sent as protobuf. */
  readonly proto?: string
  readonly track?: MediaTrack
  writer(encoding: string): FrameWriter
}

/** The result of a stream that ended in order. */
export interface StreamSummary {
  /** Frames that were sent to the reader. */
  frames: number
  /** Frames that were dropped because the reader was slow. */
  dropped: number
  ended: 'done' | 'unsubscribed' | 'expired'
}

/** The transports of a stream on a server that has these, in order of preference. */
export function transportsFor(
  { transports }: Pick<StreamRules, 'transports'>,
  known: readonly string[],
): readonly string[] {
  return transports?.filter((name) => known.includes(name)) ?? known
}
