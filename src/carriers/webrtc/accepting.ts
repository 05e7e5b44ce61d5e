/**
 * Answers an offer. The server is an ICE-lite agent: it asks no STUN server, sends nothing before the peer does, and
 * replies only to where the peer's packets come from.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:dgram'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { RTCPeerConnection } from 'werift'
import { Fault } from '../../core/fault.ts'
import type { MediaTrack } from '../../core/operation/stream.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import { bindingFor } from './addresses.ts'
import type { Werift } from './library.ts'
import { hasDataSection, invalid } from './offer.ts'
import { Peer } from './peer.ts'
import { negotiableCodecs } from './track-codecs.ts'

/** Binding a socket takes less than a millisecond. */
const GATHER_MS = 5_000
/** Readers send no messages. */
const MAX_MESSAGE_BYTES = 16 * 1024

export interface AcceptingParts {
  library: Werift
  /** Two numbers, if the operator has opened these ports only. */
  ports?: readonly [min: number, max: number]
  clock: Clock
  log: Log
}

export interface NewPeer {
  id: string
  owner: string
  sdp: string
  hosts: readonly string[]
  track?: MediaTrack
  closed(): void
}

export interface Accepted {
  peer: Peer
  answer: { type: 'answer'; sdp: string; candidates: string[] }
}

export class Accepting {
  readonly #parts: AcceptingParts
  /** The sockets of the library have no listener for errors, and without one an error ends the process. */
  readonly #within = new AsyncLocalStorage<true>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: AcceptingParts) {
    this.#parts = parts
    subscribe('udp.socket', this.#listen)
  }

  close(): void {
    unsubscribe('udp.socket', this.#listen)
  }

  /** Throws a fault if the offer cannot be answered. Nothing stays open then. */
  accept(offer: NewPeer): Promise<Accepted> {
    const accept = () => this.#within.run(true, () => this.#accept(offer))
    if (!this.#parts.ports) return accept()
    // The library looks for a free port and binds to it later, so two offers could find the same one.
    const accepted = this.#last.then(accept, accept)
    this.#last = accepted.catch(() => {})
    return accepted
  }

  async #accept(offer: NewPeer): Promise<Accepted> {
    const { library, ports, clock, log } = this.#parts
    const { id, owner, sdp, hosts, track, closed } = offer
    let peer: Peer | undefined
    const connection = new library.RTCPeerConnection({
      iceLite: true,
      iceServers: [],
      // Without a family the library announces the addresses below only, and not all of the machine.
      iceUseIpv4: false,
      iceUseIpv6: false,
      iceAdditionalHostAddresses: [...hosts],
      iceInterfaceAddresses: bindingFor(hosts),
      icePortRange: ports && [...ports],
      iceFilterStunResponse: (message) => {
        const [name] = String(message.getAttributeValue('USERNAME')).split(':')
        if (name !== connection.iceTransports[0]?.connection.localUsername) return false
        peer?.heard()
        return true
      },
      bundlePolicy: 'max-bundle',
      codecs: negotiableCodecs(library, track),
      maxMessageSize: MAX_MESSAGE_BYTES,
    })
    try {
      await understand(connection, sdp)
      peer = new Peer({ id, owner, connection, hasData: hasDataSection(sdp), clock, log, closed })
      peer.requireSection(track)
      for (const transceiver of connection.getTransceivers()) transceiver.setDirection('sendonly')
      const answer = await this.#answer(connection)
      for (const { connection: transport } of connection.iceTransports)
        transport.onData.subscribe(() => peer?.received())
      return { peer, answer }
    } catch (thrown) {
      await (peer ?? connection).close()
      throw thrown
    }
  }

  async #answer(connection: RTCPeerConnection): Promise<Accepted['answer']> {
    const late = Promise.withResolvers<never>()
    const cancel = this.#parts.clock.schedule(GATHER_MS, () => late.reject(noPort()))
    const answering = async () => {
      await connection.setLocalDescription(await connection.createAnswer())
      return connection.localDescription?.sdp ?? ''
    }
    try {
      const sdp = await Promise.race([answering(), late.promise])
      const candidates = [...new Set([...sdp.matchAll(/^a=(candidate:.*?)\r?$/gm)].map(([, line = '']) => line))]
      if (candidates.length === 0) throw noPort()
      return { type: 'answer', sdp, candidates }
    } finally {
      cancel()
    }
  }

  readonly #listen = (message: unknown): void => {
    if (!this.#within.getStore()) return
    const { socket } = message as { socket: Socket }
    socket.on('error', (err) => this.#parts.log.debug({ err }, 'a WebRTC socket failed'))
  }
}

async function understand(connection: RTCPeerConnection, sdp: string): Promise<void> {
  try {
    await connection.setRemoteDescription({ type: 'offer', sdp })
  } catch (cause) {
    throw invalid('The server does not understand this offer. Send the local description of your connection.', cause)
  }
}

function noPort(): Fault {
  return new Fault('overloaded', 'The server has no free UDP port for another connection. Try again in a moment.', {
    code: 'NO_PORT',
    retryAfterMs: 1_000,
  })
}
