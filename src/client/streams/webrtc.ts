/** Frames over a WebRTC data channel. The offer goes with the call, and the answer comes with its reply. */
import type { Envelope } from '../options.ts'
import type { RawFrame, ReaderEnd } from './reader.ts'
import type { StreamWay } from './ways.ts'

interface Channel {
  readonly label: string
  binaryType: string
  onmessage: ((event: { data: string | ArrayBuffer }) => void) | null
  onclose: (() => void) | null
}

/** The part of a browser's connection that is used here. */
interface PeerConnection {
  readonly localDescription: { type: string; sdp: string }
  readonly connectionState: string
  ondatachannel: ((event: { channel: Channel }) => void) | null
  onconnectionstatechange: (() => void) | null
  createDataChannel(label: string): unknown
  setLocalDescription(): Promise<void>
  setRemoteDescription(answer: unknown): Promise<void>
  close(): void
}

/** The channel on which the ends of all streams of a connection arrive. */
const ENDS = 'callplane'

export async function offerConnection(): Promise<StreamWay> {
  const peer = new (globalThis as unknown as { RTCPeerConnection: new () => PeerConnection }).RTCPeerConnection()
  // An offer needs a data section.
  peer.createDataChannel('reader')
  await peer.setLocalDescription()
  const { type, sdp } = peer.localDescription
  return {
    wish: { transport: 'webrtc', webrtc: { type, sdp } },
    close: () => peer.close(),
    read: (_fetcher, { place, signal, push }) =>
      new Promise<ReaderEnd>((resolve, reject) => {
        const lost = { state: 'broken', refused: true } as const
        const take = (data: RawFrame['data'] | ArrayBuffer) => {
          try {
            push({ data: data instanceof ArrayBuffer ? new Uint8Array(data) : data })
          } catch (thrown) {
            reject(thrown)
          }
        }
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        peer.ondatachannel = ({ channel }) => {
          channel.binaryType = 'arraybuffer'
          if (channel.label !== ENDS) channel.onmessage = ({ data }) => take(data)
          else channel.onmessage = ({ data }) => resolve(endIn(String(data)))
        }
        peer.onconnectionstatechange = () => {
          if (peer.connectionState === 'failed' || peer.connectionState === 'closed') resolve(lost)
        }
        peer.setRemoteDescription(place.webrtc).catch(() => resolve(lost))
      }),
  }
}

function endIn(text: string): ReaderEnd {
  const { state, error } = JSON.parse(text) as Envelope
  return state === 'error' ? { state, error } : { state: 'complete' }
}
