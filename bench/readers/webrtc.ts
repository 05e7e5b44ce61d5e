/** The process that reads frames over WebRTC data channels. It compares every frame with the expected one. */
import { RTCPeerConnection } from 'werift'
import { FRAME_BYTES } from '../contenders/frames.ts'
import { fetchOnce } from '../fetch-once.ts'
import { callBody } from './call-body.ts'
import { answerReaders } from './reader.ts'

/** The channels of the offer and of Callplane's messages about the ends of streams. They carry no frames. */
const OTHERS = ['reader', 'callplane']

answerReaders(async ({ port, operation }) => {
  const peer = new RTCPeerConnection({
    // Nothing listens there. Without a server, the library asks a public one.
    iceServers: [{ urls: 'stun:127.0.0.1:9' }],
    iceStunGatherTimeout: 0.01,
    iceUseIpv4: false,
    iceUseIpv6: false,
    iceAdditionalHostAddresses: ['127.0.0.1'],
    iceInterfaceAddresses: { udp4: '127.0.0.1' },
  })
  const opened = Promise.withResolvers<void>()
  let frames = 0
  let wrong: string | undefined
  peer.onDataChannel.subscribe((channel) => {
    if (OTHERS.includes(channel.label)) return
    channel.onMessage.subscribe((message) => {
      if (Buffer.isBuffer(message) && message.equals(FRAME_BYTES)) frames++
      else wrong ??= String(message)
      opened.resolve()
    })
  })
  peer.createDataChannel('reader')
  await peer.setLocalDescription(await peer.createOffer())
  const offer = { type: 'offer', sdp: peer.localDescription?.sdp ?? '' }
  await peer.setRemoteDescription(operation === undefined ? await ask(port, offer) : await call(port, operation, offer))
  await opened.promise
  return {
    frames() {
      if (wrong !== undefined) throw new Error(`A frame is wrong: ${wrong}`)
      return frames
    },
    close: () => peer.close(),
  }
})

interface Answer {
  type: 'answer'
  sdp: string
}

/** The bare server takes the offer as it is. */
async function ask(port: number, offer: object): Promise<Answer> {
  return JSON.parse((await fetchOnce(port, '/', { body: JSON.stringify(offer) })).body.toString())
}

async function call(port: number, operation: string, offer: object): Promise<Answer> {
  const { body, headers } = callBody(operation, { transport: 'webrtc', webrtc: offer })
  const reply = await fetchOnce(port, '/call', { headers, body })
  const { stream } = JSON.parse(reply.body.toString())
  if (!stream) throw new Error(`The stream was not accepted: ${reply.body}`)
  return stream.webrtc
}
