/**
 * Receives the bytes of one stream. The library has no back-pressure: it delivers all bytes at once, and drops them if
 * there is no listener. So every byte is taken when it arrives, and the number of unread bytes is bounded.
 */
import type { Duplex } from 'node:stream'
import { Fault } from '../../core/fault.ts'
import { bodyBrokeOff, bodyTooSlow } from '../../wire/http/body-faults.ts'

/** Unread bytes of one stream. Enough for an upload while the disk is busy. */
const MAX_UNREAD = 16 * 1024 * 1024

/** Unread bytes of all streams together. */
export class Unread {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes = 256 * 1024 * 1024) {
    this.#maxBytes = maxBytes
  }

  /** False if there is no room. */
  add(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false
    this.#bytes += bytes
    return true
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
  }
}

export class Inbox {
  readonly #unread: Unread
  #chunks: Buffer[] = []
  #bytes = 0
  #state: 'open' | 'ended' | 'gone' | 'discarding' = 'open'
  #failure: Fault | undefined
  #discardLeft = 0
  #wake = () => {}
  #onDiscarded = () => {}

  /** Must be created in the same turn in which the library announces the stream. */
  constructor(stream: Duplex, unread: Unread) {
    this.#unread = unread
    stream
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .on('end', () => this.#end('ended'))
      .on('close', () => this.#end('gone'))
  }

  /** True if the peer has sent everything. Some of it may be unread. */
  get hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Everything that has arrived and is unread. Throws a fault if it was too much. */
  takeAll(): Buffer {
    if (this.#failure) throw this.#failure
    const chunks = this.#chunks
    this.#chunks = []
    this.#release(this.#bytes)
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  }

  /** The next bytes, or `undefined` at the end. Throws a fault after `waitMs`, or never without it. */
  async next(waitMs?: number): Promise<Buffer | undefined> {
    const chunk = this.#shift()
    if (chunk) return chunk
    let timer: NodeJS.Timeout | undefined
    let timedOut = false
    try {
      for (;;) {
        const later = this.#shift()
        if (later) return later
        if (this.#failure) throw this.#failure
        if (this.#state === 'ended') return undefined
        if (this.#state !== 'open') throw bodyBrokeOff()
        if (timedOut) throw bodyTooSlow()
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          if (waitMs === undefined || timer !== undefined) return
          const expire = () => {
            timedOut = true
            this.#wake()
          }
          timer = setTimeout(expire, Math.max(0, waitMs))
        })
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Discards the rest. Calls back when the peer has sent everything, or more than `maxBytes`. */
  discard(maxBytes: number, done: () => void): void {
    this.#forget()
    this.#discardLeft = maxBytes
    this.#onDiscarded = done
    if (this.#state === 'open') this.#state = 'discarding'
    else done()
  }

  #take(chunk: Buffer): void {
    if (this.#state === 'discarding') {
      this.#discardLeft -= chunk.length
      if (this.#discardLeft < 0) this.#end('gone')
      return
    }
    if (this.#failure) return
    if (this.#bytes + chunk.length > MAX_UNREAD || !this.#unread.add(chunk.length)) {
      this.#forget()
      this.#failure = tooFast()
    } else {
      this.#bytes += chunk.length
      this.#chunks.push(chunk)
    }
    this.#wake()
  }

  #shift(): Buffer | undefined {
    const chunk = this.#chunks.shift()
    if (chunk) this.#release(chunk.length)
    return chunk
  }

  #release(bytes: number): void {
    this.#bytes -= bytes
    this.#unread.remove(bytes)
  }

  #forget(): void {
    this.#chunks = []
    this.#release(this.#bytes)
  }

  #end(how: 'ended' | 'gone'): void {
    const before = this.#state
    if (before === 'ended' || before === 'gone') return
    this.#state = how
    if (how === 'gone') this.#forget()
    this.#wake()
    if (before === 'discarding') this.#onDiscarded()
  }
}

function tooFast(): Fault {
  const message = 'The body arrives faster than the server can store it; send it again later, or over HTTP/1.1.'
  return new Fault('unavailable', message, { code: 'BODY_TOO_FAST', retryable: true })
}
