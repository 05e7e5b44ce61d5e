/**
 * Messages as lines on a pair of streams, such as standard input and output. It knows no protocol. A line may arrive in
 * pieces, and several may arrive at once. A line above the size limit is discarded while it arrives, and the session
 * receives a fault.
 */
import type { Readable, Writable } from 'node:stream'
import { joinBytes } from '../../core/bytes.ts'
import { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { Presented } from '../../core/ports/guard.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Message, OpenSession } from '../../core/ports/session.ts'
import { Link, MAX_IN_FLIGHT, type MessageLimits } from '../../wire/messages/link.ts'
import { messageTooLarge, readText } from '../../wire/messages/text.ts'

export interface LineOptions {
  input: Readable
  output: Writable
  /** The credential of the peer process. */
  peer: Presented
  origin: string
  limits: Pick<MessageLimits, 'maxBytes'> & Partial<MessageLimits>
  log: Log
  /** Ends the session before the input ends. */
  signal: AbortSignal
  /** How long the peer may take to read the last lines when the session closes (default: 5,000). */
  flushMs?: number
}

export interface LineCarrier extends Carrier {
  /**
   * Resolves when the session has closed: after the input has ended and all responses were sent, or when the signal
   * aborts.
   */
  readonly ended: Promise<void>
}

export function createLineCarrier(open: OpenSession, options: LineOptions): LineCarrier {
  const { input, output, peer, origin, log, signal, flushMs = 5_000 } = options
  const limits = { maxInFlight: MAX_IN_FLIGHT, ...options.limits }
  const ending = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let link: Link | undefined
  let isReading = true

  async function serve(opened: Link): Promise<void> {
    const lines = new Lines(opened, limits.maxBytes)
    const take = (chunk: Buffer | string) => {
      const waiting = lines.take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
      if (!waiting) return
      input.pause()
      void waiting.then(() => {
        if (isReading) input.resume()
      })
    }
    const finish = () => void opened.finish().then(ending.resolve)
    const leave = () => ending.resolve()
    const lose = (err?: Error) => {
      if (err) log.debug({ err }, 'a stream of lines failed')
      void opened.leave()
      ending.resolve()
    }
    // A stream also closes after it has ended. The responses to its last lines may still be pending then.
    const closed = () => {
      if (!input.readableEnded) lose()
    }
    input.on('data', take).once('end', finish).on('error', lose).once('close', closed)
    output.on('error', lose).once('close', lose)
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    await ending.promise
    isReading = false
    signal.removeEventListener('abort', leave)
    input.off('data', take).off('end', finish).off('close', closed).pause()
    await opened.close(AbortSignal.timeout(flushMs))
    input.off('error', lose)
    output.off('error', lose).off('close', lose)
  }

  return {
    ended: ended.promise,
    async listen() {
      link = new Link({ open, peer, origin, transmit: createLineWriter(output), limits, log })
      void serve(link).then(ended.resolve, ended.reject)
    },
    async close(graceMs) {
      if (!link) return
      isReading = false
      input.pause()
      const cut = setTimeout(ending.resolve, graceMs)
      void link.finish().then(ending.resolve)
      await ended.promise
      clearTimeout(cut)
    },
  }
}

/**
 * JSON on one line contains no line break, so one line is one message. Many messages may wait for a slow peer: they
 * share one wait, because a listener for each would be reported as a leak.
 */
function createLineWriter(output: Writable): (message: Message) => void | Promise<void> {
  let draining: Promise<void> | undefined
  return (message) => {
    if (typeof message !== 'string') output.write(message)
    if (output.write(typeof message === 'string' ? `${message}\n` : '\n')) return
    draining ??= drained(output).then(() => {
      draining = undefined
    })
    return draining
  }
}

/** Resolves when the peer has read the written bytes, or is gone. */
function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      output.off('drain', done).off('close', done)
      resolve()
    }
    output.on('drain', done).on('close', done)
  })
}

const NEWLINE = 0x0a

class Lines {
  readonly #link: Link
  readonly #maxBytes: number
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(link: Link, maxBytes: number) {
    this.#link = link
    this.#maxBytes = maxBytes
  }

  /** Returns a promise while the rest of the chunk waits for room. Nothing may be read until it resolves. */
  take(chunk: Uint8Array): Promise<void> | undefined {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      if (end < 0) {
        this.#add(chunk.subarray(start))
        return undefined
      }
      this.#add(chunk.subarray(start, end))
      this.#finish()
      start = end + 1
      const rest = chunk.subarray(start)
      const room = this.#link.room()
      if (room) return room.then(() => this.take(rest))
    }
  }

  #add(piece: Uint8Array): void {
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes) this.#pieces = []
    else this.#pieces.push(piece)
  }

  #finish(): void {
    const pieces = this.#pieces
    const isTooLarge = this.#bytes > this.#maxBytes
    this.#pieces = []
    this.#bytes = 0
    if (isTooLarge) void this.#link.refuse(messageTooLarge(this.#maxBytes))
    else this.#hand(joinBytes(pieces))
  }

  /** Empty lines are not messages. */
  #hand(bytes: Uint8Array): void {
    try {
      const line = readText(bytes).trim()
      if (line !== '') void this.#link.receive(line)
    } catch (thrown) {
      void this.#link.refuse(Fault.from(thrown))
    }
  }
}
