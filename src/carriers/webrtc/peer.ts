/**
 * One connection to one peer. Several streams share it: each has a data channel or a media track, and the channel
 * `callplane` tells the reader how each stream ended. The connection closes when its last stream has ended, when the
 * peer is gone, or when the peer misuses it.
 */
import type { RTCDataChannel, RTCPeerConnection, RTCRtpTransceiver } from 'werift'
import { Fault } from '../../core/fault.ts'
import type { MediaTrack } from '../../core/operation/stream.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import { invalid, type Reliability } from './offer.ts'
import { unsupported } from './track-codecs.ts'

/** A peer has this long to connect, and a data channel to open. */
const CONNECT_MS = 30_000
/** Peers check the connection every few seconds. One that has been silent for this long is gone (RFC 7675). */
const SILENT_MS = 30_000
const CHECK_EVERY_MS = 5_000
/** The last messages have this long to arrive before the connection closes. */
const FLUSH_MS = 2_000
/** Peers open one channel, to have a data section in their offer. */
const MAX_PEER_CHANNELS = 16
/** Bytes that a peer may send beyond the window that it was given. */
const MAX_EXCESS_BYTES = 1024 * 1024

const CONTROL = 'callplane'

export interface PeerParts {
  id: string
  owner: string
  connection: RTCPeerConnection
  hasData: boolean
  clock: Clock
  log: Log
  /** Called once, when the connection has closed. */
  closed(): void
}

export class Peer {
  readonly id: string
  readonly owner: string
  readonly #parts: PeerParts
  readonly #gone = new AbortController()
  readonly #control: RTCDataChannel | undefined
  readonly #tracks = new Set<RTCRtpTransceiver>()
  #connected = Promise.withResolvers<void>()
  #streams = 0
  #peerChannels = 0
  #heardAtMs: number
  #cancelCheck: () => void
  #closing: Promise<void> | undefined

  /** The connection has applied the peer's offer, and has not answered it yet. */
  constructor(parts: PeerParts) {
    const { id, owner, connection, hasData, clock } = parts
    this.id = id
    this.owner = owner
    this.#parts = parts
    this.#heardAtMs = clock.monotonicMs()
    this.#connected.promise.catch(() => {})
    if (hasData) this.#control = connection.createDataChannel(CONTROL)
    this.#control?.stateChange.subscribe((state) => state === 'closed' && this.#leave('the peer has left'))
    connection.connectionStateChange.subscribe((state) => {
      if (state === 'connected') this.#connected.resolve()
      else if (state !== 'connecting' && state !== 'new') this.#leave(`the connection is ${state}`)
    })
    connection.onDataChannel.subscribe(() => {
      if (++this.#peerChannels > MAX_PEER_CHANNELS) this.#leave('the peer has opened too many channels')
    })
    const cancelConnect = clock.schedule(CONNECT_MS, () => this.#leave('the peer has not connected in time'))
    void this.#connected.promise.then(cancelConnect, cancelConnect)
    this.#cancelCheck = clock.schedule(CHECK_EVERY_MS, () => this.#check())
  }

  /** Aborts when the peer is gone or the connection closes. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** The largest frame that the peer takes. */
  get maxFrameBytes(): number {
    return this.#parts.connection.sctp?.remoteMaxMessageSize || Number.POSITIVE_INFINITY
  }

  /** The peer has checked that the connection works. */
  heard(): void {
    this.#heardAtMs = this.#parts.clock.monotonicMs()
  }

  /** Checks that the peer respects its window, which bounds the bytes of incomplete messages. */
  received(): void {
    // The library does not enforce the window, and shows the waiting bytes only here.
    const window = this.#parts.connection.sctpTransport?.sctp as unknown as { advertisedRwnd: number } | undefined
    if (window && window.advertisedRwnd < -MAX_EXCESS_BYTES) this.#leave('the peer ignores its window')
  }

  /** A stream uses the connection from now on, until it calls the returned function. */
  enter(): () => void {
    this.#streams++
    let entered = true
    return () => {
      if (!entered) return
      entered = false
      if (--this.#streams === 0) void this.close()
    }
  }

  /** Opens a data channel. Rejects with a fault if the peer does not connect. */
  async openChannel(label: string, reliability: Reliability): Promise<RTCDataChannel> {
    await this.connected()
    const channel = this.#parts.connection.createDataChannel(label, reliability)
    const opened = Promise.withResolvers<void>()
    const { unSubscribe } = channel.stateChange.subscribe((state) => {
      if (state === 'open') opened.resolve()
      else opened.reject(neverConnected())
    })
    const cancel = this.#parts.clock.schedule(CONNECT_MS, () => opened.reject(neverConnected()))
    const left = () => opened.reject(neverConnected())
    this.signal.addEventListener('abort', left, { once: true })
    try {
      await opened.promise
      return channel
    } catch (thrown) {
      channel.close()
      throw thrown
    } finally {
      cancel()
      unSubscribe()
      this.signal.removeEventListener('abort', left)
    }
  }

  /** Rejects with a fault if the peer does not connect. */
  connected(): Promise<void> {
    return this.signal.aborted ? Promise.reject(neverConnected()) : this.#connected.promise
  }

  /** Throws a fault if the connection has no section for another stream of this kind. */
  requireSection(track: MediaTrack | undefined): void {
    if (track) this.#findTrack(track)
    else if (!this.#parts.hasData) {
      throw invalid('The offer has no data section. Create a data channel before the offer.')
    }
  }

  /** Takes a media section that can carry this track and that no other stream uses. */
  takeTrack(track: MediaTrack): RTCRtpTransceiver {
    const found = this.#findTrack(track)
    this.#tracks.add(found)
    return found
  }

  #findTrack({ kind, codec }: MediaTrack): RTCRtpTransceiver {
    const mimeType = `${kind}/${codec}`.toLowerCase()
    const found = this.#parts.connection
      .getTransceivers()
      .find((one) => !this.#tracks.has(one) && one.sender.codec?.mimeType.toLowerCase() === mimeType)
    if (found) return found
    throw unsupported(`The offer has no free ${kind} section that receives ${codec}. Add one and send a new offer.`)
  }

  returnTrack(track: RTCRtpTransceiver): void {
    this.#tracks.delete(track)
  }

  /** Tells the reader how a stream ended. Without a data section, the reader has to poll. */
  tellEnd(text: string): void {
    const state = this.#control?.readyState
    if (state === 'open' || state === 'connecting') this.#control?.send(text)
  }

  /** Sends the waiting messages, and closes the connection. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Closes the connection at once. */
  cut(): Promise<void> {
    this.#gone.abort()
    return this.close()
  }

  async #close(): Promise<void> {
    const { connection, log, closed } = this.#parts
    if (this.#control && !this.signal.aborted) await this.#flush(this.#control)
    this.#gone.abort()
    this.#connected.reject(neverConnected())
    this.#cancelCheck()
    closed()
    try {
      await connection.close()
    } catch (err) {
      log.debug({ err }, 'a WebRTC connection did not close in order')
    }
  }

  /** Resolves when the peer confirms that it has read the last message, or when it has had enough time. */
  async #flush(control: RTCDataChannel): Promise<void> {
    const done = Promise.withResolvers<void>()
    const cancel = this.#parts.clock.schedule(FLUSH_MS, done.resolve)
    this.signal.addEventListener('abort', () => done.resolve(), { once: true })
    if (control.bufferedAmount > 0) control.bufferedAmountLow.once(() => control.close())
    else control.close()
    await done.promise
    cancel()
  }

  #leave(reason: string): void {
    if (this.signal.aborted) return
    this.#parts.log.debug({ reason }, 'a WebRTC connection has ended')
    this.#gone.abort()
    void this.close()
  }

  #check(): void {
    if (this.#parts.clock.monotonicMs() - this.#heardAtMs > SILENT_MS) {
      this.#leave('the peer is silent')
      return
    }
    this.#cancelCheck = this.#parts.clock.schedule(CHECK_EVERY_MS, () => this.#check())
  }
}

/** The stream ends, because no other reader can use this connection. */
function neverConnected(): Fault {
  return new Fault('unavailable', 'The WebRTC peer did not connect, or has left. Subscribe again with a new offer.', {
    code: 'READER_GONE',
  })
}
