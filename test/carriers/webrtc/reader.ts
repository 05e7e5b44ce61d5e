/** A reader in this process: the library's own peer, behind a relay. */
import { RTCPeerConnection, useVP8 } from 'werift'
import { openRelay, type Relay } from './relay.ts'

interface Answer {
  sdp: string
  type: 'answer'
}

export class Reader {
  readonly peer = new RTCPeerConnection({
    iceServers: [{ urls: 'stun:127.0.0.1:9' }],
    iceUseIpv4: false,
    iceUseIpv6: false,
    iceStunGatherTimeout: 0.01,
    // As browsers have it.
    maxMessageSize: 262_144,
    iceAdditionalHostAddresses: ['127.0.0.1'],
    iceInterfaceAddresses: { udp4: '127.0.0.1' },
    bundlePolicy: 'max-bundle',
    codecs: { video: [useVP8()], audio: [] },
  })
  readonly ends: { requestId: string; state: string; error?: { code: string } }[] = []
  readonly #frames: (string | Buffer)[] = []
  readonly #closed = new Set<string>()
  #wake = () => {}
  relay: Relay | undefined

  constructor() {
    this.peer.onDataChannel.subscribe((channel) => {
      const isControl = channel.label === 'callplane'
      channel.onMessage.subscribe((message) => {
        if (isControl) this.ends.push(JSON.parse(String(message)))
        else this.#frames.push(message)
        this.#wake()
      })
      channel.stateChange.subscribe((state) => {
        if (state === 'closed') this.#closed.add(channel.label)
        this.#wake()
      })
    })
  }

  /** An offer with these sections. */
  async offer(sections: 'data' | 'video' | 'both' = 'data'): Promise<{ type: 'offer'; sdp: string }> {
    if (sections !== 'video') this.peer.createDataChannel('reader')
    if (sections !== 'data') this.peer.addTransceiver('video', { direction: 'recvonly' })
    await this.peer.setLocalDescription(await this.peer.createOffer())
    return { type: 'offer', sdp: this.peer.localDescription?.sdp ?? '' }
  }

  /** Connects to the server through a relay. */
  async connect({ sdp, type }: Answer): Promise<void> {
    const port = /^a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+)/m.exec(sdp)?.[1]
    this.relay = await openRelay(Number(port))
    const relayed = sdp.replaceAll(`127.0.0.1 ${port} `, `127.0.0.1 ${this.relay.port} `)
    await this.peer.setRemoteDescription({ type, sdp: relayed })
  }

  /** `undefined` once a channel has closed and every frame was read. */
  async next(): Promise<string | Uint8Array | undefined> {
    while (this.#frames.length === 0) {
      if (this.#closed.size > 0) return undefined
      await this.#change()
    }
    return this.#frames.shift()
  }

  async end(): Promise<'complete' | 'error'> {
    while (this.ends.length === 0) await this.#change()
    return this.ends[0]?.state === 'complete' ? 'complete' : 'error'
  }

  async close(): Promise<void> {
    await this.peer.close()
    this.relay?.close()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}
