/**
 * One running stream between its handler and its reader. It encodes frames, numbers them, applies the rule for slow
 * readers, and waits for a reader that has lost its connection. `frame-pump.ts` reads the handler; the carrier brings
 * the frames to the reader.
 */
import type { Outcome } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { FrameWriter, Overflow, TrackFrame } from '../../core/operation/stream.ts'
import type { FrameChannel } from '../../core/ports/frames.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { READER_GONE_MS, readerGone, slowReader, stoppedStream, summaryOf } from './stream-ends.ts'
import { FrameWindow, type NumberedFrame } from './window.ts'

/** After this many frames without room, the handler waits for a turn of the event loop. */
const FRAMES_PER_TURN = 64
/** With `overflow: 'end'`, this many frames may wait for the reader. */
const MAX_WAITING = 256

export interface SubscriptionParts {
  clock: Clock
  writer: FrameWriter
  overflow: Overflow
  /** The frames are audio or video. */
  track: boolean
  /** Milliseconds that the caller must wait before its next frame of this size. 0: none. */
  paceMs(bytes: number): number
  /** Ends the attempt. */
  stop(why: Fault): void
}

/** What waits for the reader: an encoded frame with its number, or a frame of a media track. */
type Outgoing = NumberedFrame | TrackFrame

export class Subscription {
  readonly #parts: SubscriptionParts
  readonly #window: FrameWindow | undefined
  /** Frames that wait for a slow reader. Used by every rule but `wait`. */
  readonly #waiting: Outgoing[] = []
  #channel: FrameChannel | undefined
  /** Pending while the channel has no room. Used by every rule but `wait`. */
  #full: Promise<void> | undefined
  #draining = false
  #attached = Promise.withResolvers<void>()
  #cancelGone: (() => void) | undefined
  #seq = 0
  #sent = 0
  #dropped = 0
  #closed = false
  /** Why the stream failed. Set when it is closed. */
  #failure: Fault | undefined

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    this.#window = parts.writer.seal && new FrameWindow()
    this.#waitForReader()
  }

  /** Connects a reader. The reader before it is disconnected. With `after`, frames that it missed are sent again. */
  attach(channel: FrameChannel, after?: number): void {
    // A stream without frames may have ended before its reader was there.
    if (this.#closed) return void channel.end(this.#failure)
    const before = this.#channel
    this.#channel = channel
    this.#full = undefined
    this.#cancelGone?.()
    if (before && !before.signal.aborted) void before.end(replaced())
    if (channel.signal.aborted) {
      this.#lost(channel)
      return
    }
    channel.signal.addEventListener('abort', () => this.#lost(channel), { once: true })
    const missed = after === undefined ? undefined : this.#window?.after(after)
    if (missed) for (const { bytes } of missed) this.#watchRoom(channel.send(bytes))
    this.#attached.resolve()
    if (!this.#full && this.#waiting.length > 0) void this.#drain()
  }

  /** Takes a frame of the handler. Returns a promise if the handler must wait before the next one. */
  push(frame: unknown): void | Promise<void> {
    const { overflow } = this.#parts
    const outgoing = this.#encode(frame)
    const paceMs = this.#parts.paceMs(outgoing.bytes.length)
    const sent = overflow === 'wait' ? this.#sendOrWait(outgoing) : this.#sendOrOverflow(outgoing, overflow)
    if (paceMs === 0) return sent
    return Promise.all([sent, this.#pause(paceMs)]).then(() => undefined)
  }

  #encode(frame: unknown): Outgoing {
    const { writer, track } = this.#parts
    const seq = ++this.#seq
    if (track) return frame as TrackFrame
    const payload = writer.encode(frame)
    return { seq, bytes: writer.seal ? writer.seal(seq, payload) : payload }
  }

  #sendOrWait(frame: Outgoing): void | Promise<void> {
    const channel = this.#channel
    if (channel) return this.#send(channel, frame)
    return this.#attached.promise.then(() => (this.#closed ? undefined : this.#sendOrWait(frame)))
  }

  #sendOrOverflow(frame: Outgoing, overflow: Overflow): void | Promise<void> {
    const channel = this.#channel
    if (channel && !this.#full && !this.#draining) return this.#watchRoom(this.#send(channel, frame))
    if (overflow === 'drop') this.#dropped++
    else {
      this.#waiting.push(frame)
      if (overflow === 'latest' && this.#waiting.length > 1) {
        this.#waiting.shift()
        this.#dropped++
      } else if (this.#waiting.length > MAX_WAITING) return this.#parts.stop(slowReader())
    }
    // A handler that never waits would otherwise stop the process.
    return (this.#dropped + this.#waiting.length) % FRAMES_PER_TURN === 0 ? this.#pause(0) : undefined
  }

  #send(channel: FrameChannel, frame: Outgoing): void | Promise<void> {
    this.#sent++
    if (!('seq' in frame)) return channel.sendTrack?.({ keyframe: false, ...frame })
    this.#window?.add(frame)
    return channel.send(frame.bytes)
  }

  #watchRoom(full: void | Promise<void>): void {
    if (!full) return
    this.#full = full
    void full.then(() => {
      if (this.#full !== full) return
      this.#full = undefined
      if (this.#waiting.length > 0) void this.#drain()
    })
  }

  /** Sends the frames that waited for the reader. */
  async #drain(): Promise<void> {
    if (this.#draining) return
    this.#draining = true
    while (this.#channel && this.#waiting.length > 0 && !this.#closed) {
      await this.#send(this.#channel, this.#waiting.shift() as Outgoing)
    }
    this.#draining = false
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.clock.schedule(ms, resolve))
  }

  #lost(channel: FrameChannel): void {
    if (this.#channel !== channel || this.#closed) return
    this.#channel = undefined
    this.#full = undefined
    this.#attached = Promise.withResolvers()
    this.#waitForReader()
  }

  #waitForReader(): void {
    this.#cancelGone = this.#parts.clock.schedule(READER_GONE_MS, () => this.#parts.stop(readerGone()))
  }

  outcomeOf(why: Fault): Outcome {
    return stoppedStream(why, this.#sent, this.#dropped)
  }

  get summary(): Outcome {
    return summaryOf('done', this.#sent, this.#dropped)
  }

  /** The end is stored: tells the reader. */
  close(outcome: Outcome): void {
    if (this.#closed) return
    this.#closed = true
    this.#cancelGone?.()
    this.#attached.resolve()
    if (outcome.kind === 'fault') this.#failure = Fault.fromRecord(outcome.fault)
    const channel = this.#channel
    if (channel && !channel.signal.aborted) void channel.end(this.#failure)
  }
}

function replaced(): Fault {
  return new Fault('conflict', 'Another reader has connected to this stream.', { code: 'READER_REPLACED' })
}
