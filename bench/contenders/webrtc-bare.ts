/** The limit for frames over WebRTC: the library werift alone, which gets the frames at the same pace. */
import { createServer } from 'node:http'
import { type RTCDataChannel, RTCPeerConnection } from 'werift'
import type { Contender } from './contender.ts'
import { FRAME_BYTES, PACE } from './frames.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

export const start: Contender = async () => {
  const peers = new Set<RTCPeerConnection>()
  const http = createServer((request, response) => {
    readText(request, async (text) => {
      const peer = new RTCPeerConnection({
        iceLite: true,
        iceServers: [],
        iceUseIpv4: false,
        iceUseIpv6: false,
        iceAdditionalHostAddresses: ['127.0.0.1'],
        iceInterfaceAddresses: { udp4: '127.0.0.1' },
      })
      peers.add(peer)
      await peer.setRemoteDescription(JSON.parse(text))
      await peer.setLocalDescription(await peer.createAnswer())
      sendFrames(peer.createDataChannel('frames'))
      response.end(JSON.stringify(peer.localDescription))
    })
  })
  const serving = await serve(http)
  return {
    ...serving,
    async close() {
      await serving.close()
      await Promise.all([...peers].map((peer) => peer.close()))
    },
  }
}

function sendFrames(channel: RTCDataChannel): void {
  const send = () => {
    if (channel.readyState !== 'open') return
    for (let n = 0; n < PACE.frames; n++) channel.send(FRAME_BYTES)
    setTimeout(send, PACE.everyMs)
  }
  channel.stateChange.subscribe(send)
}
