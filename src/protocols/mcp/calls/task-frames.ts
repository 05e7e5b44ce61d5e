/**
 * The reader of a stream that runs as a task: keeps the last frames, bounded, and gives each to the requests that
 * listen. A request that is slow makes the handler wait.
 */

import type { JsonValue } from '../../../core/json.ts'
import type { FrameBytes } from '../../../core/operation/stream.ts'
import type { FrameChannel, NewStream } from '../../../core/ports/frames.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import { openSeal } from '../../../wire/frames/seal.ts'

/** Kept for the next request of a client that listens. */
const KEPT = { frames: 256, bytes: 256 * 1024 }
/** A model reads the result of a task, and pays for every character of it. */
const IN_RESULT = { frames: 50, bytes: 32 * 1024 }
/** A channel has no room after this many frames of a turn: core/ports/frames.ts. */
const FRAMES_PER_TURN = 64

interface Kept {
  /** Counts the kept frames from 1. */
  at: number
  /** JSON text. */
  text: string
}

export type FramesParts = Pick<Environment, 'base64' | 'nextTurn'>

export class TaskFrames implements FrameChannel {
  /** The task reads to the end: its reader never goes. */
  readonly signal: AbortSignal = new AbortController().signal
  readonly #parts: FramesParts
  readonly #stream: Pick<NewStream, 'encoding' | 'sealed'>
  readonly #ended: () => void
  #kept: Kept[] = []
  #keptBytes = 0
  #count = 0
  /** The last frame that a request has got. */
  #told = 0
  /** How many requests listen. */
  #listening = 0
  #isOver = false
  #turn: Promise<void> | undefined
  #inTurn = 0
  /** Pending while the handler waits for a request that listens. */
  #room: PromiseWithResolvers<void> | undefined
  /** Pending while a request that listens waits for a frame. */
  #news: PromiseWithResolvers<void> | undefined

  constructor(stream: Pick<NewStream, 'encoding' | 'sealed'>, parts: FramesParts, ended: () => void) {
    this.#stream = stream
    this.#parts = parts
    this.#ended = ended
  }

  send(frame: FrameBytes): void | Promise<void> {
    const text = this.#textOf(frame)
    // A very large frame is counted in the result of the stream, but it is not shown.
    if (text.length <= KEPT.bytes / 2) this.#keep(text)
    if (this.#listening > 0 && this.#isFull()) return this.#roomAgain()
    return this.#afterTurn()
  }

  end(): void {
    this.#isOver = true
    this.#tellNews()
    this.#ended()
  }

  last(): JsonValue[] {
    let bytes = 0
    const last: JsonValue[] = []
    for (const { text } of this.#kept.toReversed()) {
      bytes += text.length
      if (last.length === IN_RESULT.frames || bytes > IN_RESULT.bytes) break
      last.unshift(JSON.parse(text))
    }
    return last
  }

  /** Yields the frames that no request has got yet, and later ones until the stream ends or the signal aborts. */
  async *listen(signal: AbortSignal): AsyncGenerator<JsonValue, void> {
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    this.#listening++
    try {
      let at = this.#told
      while (!signal.aborted) {
        const next = this.#kept[Math.max(0, at + 1 - (this.#kept[0]?.at ?? 0))]
        if (next) {
          at = next.at
          this.#tell(at)
          yield JSON.parse(next.text)
        } else if (this.#isOver) return
        else {
          this.#news ??= Promise.withResolvers()
          await Promise.race([this.#news.promise, stopped])
        }
      }
    } finally {
      this.#listening--
      if (this.#listening === 0) this.#goOn()
    }
  }

  #textOf(frame: FrameBytes): string {
    if (typeof frame === 'string') return frame
    const payload = this.#stream.sealed ? openSeal(frame).payload : frame
    if (this.#stream.encoding === 'json') return new TextDecoder().decode(payload)
    return JSON.stringify(this.#parts.base64(payload))
  }

  #keep(text: string): void {
    this.#kept.push({ at: ++this.#count, text })
    this.#keptBytes += text.length
    this.#tellNews()
    while (this.#kept.length > KEPT.frames || this.#keptBytes > KEPT.bytes) {
      this.#keptBytes -= this.#kept.shift()?.text.length ?? 0
    }
  }

  #tell(at: number): void {
    this.#told = Math.max(this.#told, at)
    if (!this.#isFull()) this.#goOn()
  }

  /** True if the next frame might replace one that no request has got. */
  #isFull(): boolean {
    const [oldest] = this.#kept
    if (!oldest || oldest.at <= this.#told) return false
    return this.#kept.length >= KEPT.frames || this.#keptBytes > KEPT.bytes / 2
  }

  #tellNews(): void {
    this.#news?.resolve()
    this.#news = undefined
  }

  #roomAgain(): Promise<void> {
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  #goOn(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  #afterTurn(): void | Promise<void> {
    this.#turn ??= this.#parts.nextTurn().then(() => {
      this.#turn = undefined
      this.#inTurn = 0
    })
    if (++this.#inTurn >= FRAMES_PER_TURN) return this.#turn
  }
}
