/** The codecs of media tracks: how each is negotiated and put into packets. */
import type { MediaStreamTrack } from 'werift'
import { Fault } from '../../core/fault.ts'
import type { MediaTrack } from '../../core/operation/stream.ts'
import type { Werift } from './library.ts'

export interface Packets {
  /** Only the packets of VP9 say themselves whether they belong to a key frame. */
  packetize(
    frame: Buffer,
    timestamp: number,
    about: { isKeyframe: boolean },
  ): readonly Parameters<MediaStreamTrack['writeRtp']>[0][]
}

interface Codec {
  kind: MediaTrack['kind']
  clockHz: number
  describe(library: Werift): ReturnType<Werift['useVP8']>
  packets(library: Werift, payloadType: number): Packets
}

/** The codecs for which the library makes packets, by their names in lower case. */
const CODECS: Record<string, Codec> = {
  vp8: {
    kind: 'video',
    clockHz: 90_000,
    describe: ({ useVP8 }) => useVP8(),
    packets: ({ Vp8Packetizer }, payloadType) => new Vp8Packetizer({ payloadType }),
  },
  h264: {
    kind: 'video',
    clockHz: 90_000,
    describe: ({ useH264 }) => useH264(),
    packets: ({ H264Packetizer }, payloadType) => new H264Packetizer({ payloadType }),
  },
  vp9: {
    kind: 'video',
    clockHz: 90_000,
    describe: ({ useVP9 }) => useVP9(),
    packets: ({ Vp9Packetizer }, payloadType) => new Vp9Packetizer({ payloadType }),
  },
  opus: {
    kind: 'audio',
    clockHz: 48_000,
    describe: ({ useOPUS }) => useOPUS(),
    packets: ({ OpusPacketizer }, payloadType) => new OpusPacketizer({ payloadType }),
  },
}

export function codecOf({ kind, codec }: MediaTrack): Codec {
  const found = CODECS[codec.toLowerCase()]
  if (found?.kind === kind) return found
  const message = `This server cannot send ${kind} as ${codec}. Declare one of ${Object.keys(CODECS).join(', ')}.`
  throw unsupported(message)
}

/** One codec for each kind: a connection keeps to the codecs that it began with. */
export function negotiableCodecs(library: Werift, track?: MediaTrack) {
  const chosen = track && codecOf(track)
  const { vp8, opus } = CODECS as Record<'vp8' | 'opus', Codec>
  const pick = (kind: MediaTrack['kind'], other: Codec) => [(chosen?.kind === kind ? chosen : other).describe(library)]
  return { video: pick('video', vp8), audio: pick('audio', opus) }
}

export function unsupported(message: string): Fault {
  return new Fault('invalid-input', message, { code: 'UNSUPPORTED_CODEC', details: { field: 'args.webrtc' } })
}
