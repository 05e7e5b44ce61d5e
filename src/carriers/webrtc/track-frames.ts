/** One stream of encoded audio or video on a media track. */
import type { MediaStreamTrack, RTCRtpTransceiver } from 'werift'
import type { Fault } from '../../core/fault.ts'
import type { MediaTrack, TrackFrame } from '../../core/operation/stream.ts'
import type { FrameChannel } from '../../core/ports/frames.ts'
import type { Werift } from './library.ts'
import type { Peer } from './peer.ts'
import { codecOf, type Packets } from './track-codecs.ts'
import { Turn } from './turn.ts'

export interface TrackFramesParts {
  library: Werift
  peer: Peer
  track: MediaTrack
  transceiver: RTCRtpTransceiver
  encodeEnd(fault?: Fault): string
  /** The stream no longer uses the connection. */
  leave(): void
}

export class TrackFrames implements FrameChannel {
  readonly #parts: TrackFramesParts
  readonly #source: MediaStreamTrack
  readonly #packets: Packets
  readonly #clockHz: number
  readonly #turn = new Turn()
  readonly signal: AbortSignal

  /** The peer is connected. */
  static async open(parts: TrackFramesParts): Promise<TrackFrames> {
    const { library, track, transceiver } = parts
    const source = new library.MediaStreamTrack({ kind: track.kind })
    await transceiver.sender.replaceTrack(source)
    return new TrackFrames(parts, source)
  }

  private constructor(parts: TrackFramesParts, source: MediaStreamTrack) {
    const { library, track, transceiver, peer } = parts
    const codec = codecOf(track)
    this.#parts = parts
    this.#source = source
    this.#clockHz = codec.clockHz
    this.#packets = codec.packets(library, transceiver.sender.codec?.payloadType ?? 0)
    this.signal = peer.signal
    this.signal.addEventListener('abort', this.#release, { once: true })
  }

  /** A media track carries encoded audio and video only, and the engine sends nothing else here. */
  send(): void {}

  /** Media is sent when it is due. A network that is too slow loses packets, and the handler does not wait. */
  sendTrack({ bytes, timestampMs, keyframe: isKeyframe = false }: TrackFrame): void | Promise<void> {
    if (this.signal.aborted) return
    // The timestamp of a packet has 32 bits and starts again at 0.
    const timestamp = Math.round(timestampMs * (this.#clockHz / 1000)) % 2 ** 32
    const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (const packet of this.#packets.packetize(frame, timestamp, { isKeyframe })) this.#source.writeRtp(packet)
    return this.#turn.take()
  }

  end(fault?: Fault): void {
    this.#parts.peer.tellEnd(this.#parts.encodeEnd(fault))
    this.signal.removeEventListener('abort', this.#release)
    this.#release()
  }

  readonly #release = (): void => {
    const { peer, transceiver, leave } = this.#parts
    this.#source.stop()
    peer.returnTrack(transceiver)
    leave()
  }
}
