/**
 * Streams over WebRTC. The offer is part of the call, over any carrier, and the answer is part of the reply.
 * docs/readings.md#r36. The carrier knows no operation and no envelope.
 */
import { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { FrameChannel, NewStream, StreamPlace, StreamTransport } from '../../core/ports/frames.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { Accepting } from './accepting.ts'
import { defaultHosts } from './addresses.ts'
import { DataFrames } from './data-frames.ts'
import type { Werift } from './library.ts'
import { parseWish, type Wish } from './offer.ts'
import type { Peer } from './peer.ts'
import { TrackFrames } from './track-frames.ts'

export interface WebRtcSettings {
  /** IP addresses at which peers reach this machine. Default: the address of the HTTP server. */
  hosts?: readonly string[]
  /** Range of UDP ports. Default: any free port. */
  ports?: readonly [min: number, max: number]
  /** How many peers may be connected at once. */
  maxConnections: number
}

export interface WebRtcParts extends WebRtcSettings {
  library: Werift
  env: Pick<Environment, 'clock' | 'log' | 'newSecret'>
  /** `http://host:port` of the HTTP server. */
  origin(): string
  /** The message that tells a reader of the end of its stream. */
  encodeEnd(requestId: string, fault?: Fault): string
}

export const TRANSPORT = 'webrtc'

export class WebRtcCarrier implements Carrier, StreamTransport {
  readonly name = TRANSPORT
  readonly #parts: WebRtcParts
  readonly #accepting: Accepting
  readonly #peers = new Map<string, Peer>()
  /** Offers that are being answered. */
  #answering = 0
  #isClosed = false
  #idle = Promise.withResolvers<void>()

  constructor(parts: WebRtcParts) {
    const { library, ports, env } = parts
    const { clock, log } = env
    this.#parts = parts
    this.#accepting = new Accepting({ library, clock, log, ...(ports && { ports }) })
  }

  get connections(): number {
    return this.#peers.size
  }

  async listen(): Promise<void> {}

  /** Waits for the streams to end, which closes their connections. Connections that are open after that are cut. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    if (this.#peers.size > 0) {
      const cancel = this.#parts.env.clock.schedule(graceMs, this.#idle.resolve)
      await this.#idle.promise
      cancel()
    }
    await Promise.all([...this.#peers.values()].map((peer) => peer.cut()))
    this.#accepting.close()
  }

  async place(stream: NewStream): Promise<StreamPlace> {
    const wish = parseWish(stream.details)
    const { from } = wish
    if ('connection' in from) return this.#share(this.#find(from.connection, stream.owner), stream, wish)
    const { peer, answer } = await this.#accept(from.sdp, stream)
    try {
      return this.#share(peer, stream, wish, answer)
    } catch (thrown) {
      await peer.close()
      throw thrown
    }
  }

  #find(id: string, owner: string): Peer {
    const peer = this.#peers.get(id)
    if (peer?.owner === owner && !peer.signal.aborted) return peer
    throw new Fault('not-found', 'You have no such connection on this node, or it has closed. Send a new offer.', {
      code: 'CONNECTION_NOT_FOUND',
    })
  }

  async #accept(sdp: string, { owner, track }: NewStream) {
    const { maxConnections, hosts, origin, env } = this.#parts
    if (this.#isClosed) throw new Fault('unavailable', 'The server is shutting down. Subscribe again.')
    if (this.#peers.size + this.#answering >= maxConnections) throw tooMany(maxConnections)
    const id = env.newSecret()
    this.#answering++
    try {
      const accepted = await this.#accepting.accept({
        id,
        owner,
        sdp,
        hosts: hosts ?? defaultHosts(origin()),
        closed: () => this.#forget(id),
        ...(track && { track }),
      })
      this.#peers.set(id, accepted.peer)
      return accepted
    } finally {
      this.#answering--
    }
  }

  #forget(id: string): void {
    this.#peers.delete(id)
    if (this.#isClosed && this.#peers.size === 0) this.#idle.resolve()
  }

  /** Throws a fault if the connection cannot carry the stream. */
  #share(peer: Peer, stream: NewStream, wish: Wish, answer?: object): StreamPlace {
    const { track, requestId } = stream
    peer.requireSection(track)
    const channel = encodeURIComponent(requestId)
    const place = (facts: { channel: string } | { track: string }) => ({
      location: `${TRANSPORT}:${peer.id}/${channel}`,
      details: { [TRANSPORT]: { ...answer, connection: peer.id, ...facts } },
    })
    if (track) {
      const transceiver = peer.takeTrack(track)
      const left = peer.enter()
      const discard = () => {
        peer.returnTrack(transceiver)
        left()
      }
      const parts = { ...this.#ends(requestId), library: this.#parts.library, peer, track, transceiver, leave: left }
      const open = () =>
        opening(
          peer.connected().then(() => TrackFrames.open(parts)),
          discard,
        )
      return { ...place({ track: transceiver.mid ?? '' }), open, discard }
    }
    const leave = peer.enter()
    const { clock } = this.#parts.env
    const opened = async () => {
      const data = await peer.openChannel(channel, wish.reliability)
      return new DataFrames({ ...this.#ends(requestId), peer, channel: data, clock, leave })
    }
    return { ...place({ channel }), open: () => opening(opened(), leave), discard: leave }
  }

  #ends(requestId: string) {
    return { encodeEnd: (fault?: Fault) => this.#parts.encodeEnd(requestId, fault) }
  }
}

/** A stream whose peer never connects frees its place on the connection. */
async function opening(channel: Promise<FrameChannel>, giveUp: () => void): Promise<FrameChannel> {
  try {
    return await channel
  } catch (thrown) {
    giveUp()
    throw thrown
  }
}

function tooMany(maxConnections: number): Fault {
  return new Fault('overloaded', `The server has its ${maxConnections} WebRTC connections. Try again in a moment.`, {
    code: 'TOO_MANY_CONNECTIONS',
    retryAfterMs: 1_000,
  })
}
