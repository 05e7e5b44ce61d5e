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
import { READER_GONE_MS, readerGone, type Sent, slowReader, stoppedStream, summaryOf } from './stream-ends.ts'
import { FrameWindow, type NumberedFrame } from './window.ts'

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

/** One connection of a reader. */
interface Link {
  channel: FrameChannel
  /** The channel has no room for another frame. */
  full: boolean
}

export class Subscription {
  readonly #parts: SubscriptionParts
  readonly #window: FrameWindow | undefined
  /** Frames that no reader has got yet. */
  readonly #waiting: Outgoing[] = []
  /** Frames that a reader missed and gets again, before the others. */
  #missed: NumberedFrame[] = []
  #link: Link | undefined
  /** True once a reader has connected. Before that the handler waits, with every rule for slow readers. */
  #read = false
  /** Pending while the handler waits for room. */
  #room: PromiseWithResolvers<void> | undefined
  #cutPause: (() => void) | undefined
  #cancelGone: (() => void) | undefined
  #seq = 0
  #sent = 0
  #dropped = 0
  #outcome: Outcome | undefined
  /** Created when the handler has returned before its last frames are sent. */
  #closed: PromiseWithResolvers<void> | undefined

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    this.#window = parts.writer.seal && new FrameWindow()
    this.#waitForReader()
  }

  /**
   * Connects a reader. The reader before it is disconnected. With `after`, frames that it missed are sent again, also
   * after the end of the stream.
   */
  attach(channel: FrameChannel, after?: number): void {
    if (channel.signal.aborted) return
    const before = this.#link?.channel
    const link: Link = { channel, full: false }
    this.#link = link
    this.#read = true
    this.#cancelGone?.()
    if (before && !before.signal.aborted) void before.end(replaced())
    channel.signal.addEventListener('abort', () => this.#lost(link), { once: true })
    this.#missed = after === undefined ? [] : [...(this.#window?.after(after) ?? [])]
    this.#flow()
  }

  /** Takes a frame of the handler. Returns a promise if the handler must wait before the next one. */
  push(frame: unknown): void | Promise<void> {
    if (this.#outcome) return
    const outgoing = this.#encode(frame)
    const paceMs = this.#parts.paceMs(outgoing.bytes.length)
    if (this.#hasRoom()) this.#send(this.#link as Link, outgoing)
    else this.#keep(outgoing)
    const room = this.#waits() && !this.#hasRoom() ? this.#roomAgain() : undefined
    if (paceMs <= 0) return room
    return this.#pause(paceMs).then(() => room)
  }

  /** Resolves when no frame waits for the reader, and none is on its way. */
  flush(): void | Promise<void> {
    if (this.#outcome) return
    if (this.#waiting.length + this.#missed.length > 0) return this.#roomAgain().then(() => this.flush())
    const flushing = this.#link?.channel.flushed?.()
    if (!flushing) return
    this.#closed ??= Promise.withResolvers()
    return Promise.race([flushing, this.#closed.promise])
  }

  /** The size of the frames that a reader may still get again. */
  get keptBytes(): number {
    return this.#window?.bytes ?? 0
  }

  #encode(frame: unknown): Outgoing {
    const { writer, track } = this.#parts
    const seq = ++this.#seq
    if (track) return frame as TrackFrame
    const payload = writer.encode(frame)
    return { seq, bytes: writer.seal ? writer.seal(seq, payload) : payload }
  }

  #waits(): boolean {
    return this.#parts.overflow === 'wait' || !this.#read
  }

  #hasRoom(): boolean {
    return this.#link !== undefined && !this.#link.full && this.#waiting.length === 0 && this.#missed.length === 0
  }

  /** The reader has no room for this frame. */
  #keep(frame: Outgoing): void {
    const { overflow, stop } = this.#parts
    if (overflow === 'drop' && this.#read) {
      this.#dropped++
      return
    }
    this.#waiting.push(frame)
    if (overflow === 'latest' && this.#waiting.length > 1) {
      this.#waiting.shift()
      this.#dropped++
    } else if (this.#waiting.length > MAX_WAITING) stop(slowReader())
  }

  #send(link: Link, frame: Outgoing): void {
    this.#sent++
    if ('seq' in frame) {
      this.#window?.add(frame)
      this.#watchRoom(link, link.channel.send(frame.bytes))
    } else this.#watchRoom(link, link.channel.sendTrack?.({ keyframe: false, ...frame }))
  }

  #watchRoom(link: Link, room: void | Promise<void>): void {
    if (!room) return
    link.full = true
    void room.then(() => {
      link.full = false
      if (this.#link === link) this.#flow()
    })
  }

  /** Sends the frames that waited, as far as the reader has room. */
  #flow(): void {
    const link = this.#link
    while (link && !link.full) {
      const missed = this.#missed.shift()
      const next = missed ? undefined : this.#waiting.shift()
      if (missed) this.#watchRoom(link, link.channel.send(missed.bytes))
      else if (next) this.#send(link, next)
      else break
    }
    if (this.#outcome) this.#tellEnd(this.#outcome)
    else if (this.#hasRoom()) this.#goOn()
  }

  #tellEnd(outcome: Outcome): void {
    const channel = this.#link?.channel
    if (!channel || this.#missed.length > 0) return
    this.#link = undefined
    if (!channel.signal.aborted) void channel.end(faultIn(outcome))
  }

  #roomAgain(): Promise<void> {
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  #goOn(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.schedule(ms, resolve)
      this.#cutPause = () => {
        cancel()
        resolve()
      }
    })
  }

  #lost(link: Link): void {
    if (this.#link !== link) return
    this.#link = undefined
    this.#missed = []
    if (this.#outcome) return
    const { reason } = link.channel.signal
    if (reason instanceof Fault) {
      this.#parts.stop(reason)
      return
    }
    // A handler that has ended does not wait for a reader that had every frame.
    if (this.#waiting.length === 0) this.#goOn()
    this.#waitForReader()
  }

  #waitForReader(): void {
    this.#cancelGone = this.#parts.clock.schedule(READER_GONE_MS, () => this.#parts.stop(readerGone()))
  }

  outcomeOf(why: Fault): Outcome {
    return stoppedStream(why, this.#soFar)
  }

  get summary(): Outcome {
    return summaryOf('done', this.#soFar)
  }

  get #soFar(): Sent {
    const last = this.#link?.channel.last?.()
    return { frames: this.#sent, dropped: this.#dropped, ...(last && { last }) }
  }

  /**
   * Tells the reader of the end, which is stored, after the frames that it missed. A handler that waits for room
   * continues, and finds that it is stopped.
   */
  close(outcome: Outcome): void {
    if (this.#outcome) return
    this.#outcome = outcome
    this.#waiting.length = 0
    this.#cancelGone?.()
    this.#cutPause?.()
    this.#closed?.resolve()
    this.#goOn()
    this.#flow()
  }
}

function faultIn(outcome: Outcome): Fault | undefined {
  return outcome.kind === 'fault' ? Fault.fromRecord(outcome.fault) : undefined
}

function replaced(): Fault {
  return new Fault('conflict', 'Another reader has connected to this stream.', { code: 'READER_REPLACED' })
}
