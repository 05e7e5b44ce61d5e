/**
 * One QUIC stream that a client opened is one session: it sends envelopes as records and gets every reply on the same
 * stream. When the client has ended its side, the server sends the remaining replies and ends its own.
 */
import { Fault } from '../../core/fault.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import { type DecodedRecord, encodeRecord, RecordDecoder } from '../../wire/frames/records.ts'
import { Link, type MessageLimits } from '../../wire/messages/link.ts'
import { messageTooLarge, messageTooSlow } from '../../wire/messages/text.ts'
import { Inbox, type Unread } from './inbox.ts'
import type { QuicStream } from './library.ts'
import { CODE, drained, within } from './stall.ts'

export interface RawStreamOptions {
  open: OpenSession
  frames: StreamTransport
  origin: string
  limits: MessageLimits
  unread: Unread
  stallTimeoutMs: number
  /** Time limit for a record that has begun. */
  bodyTimeoutMs: number
  log: Log
}

/** How long the peer has to read an error envelope before the stream is reset. */
const LINGER_MS = 500

/** A QUIC connection has no credential. Envelopes have one. */
const ANYBODY = { header: () => undefined }

export class RawStream {
  readonly #stream: QuicStream
  readonly #inbox: Inbox
  readonly #link: Link
  readonly #decoder: RecordDecoder
  readonly #options: RawStreamOptions
  /** Settles when the stream has ended on both sides, or was reset. */
  readonly ended: Promise<void>
  #isClosing = false

  /** Must be created in the same turn in which the library announces the stream. */
  constructor(stream: QuicStream, options: RawStreamOptions) {
    const { open, frames, origin, limits, unread, stallTimeoutMs, log } = options
    this.#stream = stream
    this.#options = options
    // Without a listener, a reset by the client would end the process.
    stream.on('error', (err) => log.debug({ err }, 'a QUIC stream failed'))
    this.#inbox = new Inbox(stream, unread)
    this.#decoder = new RecordDecoder(limits.maxBytes)
    this.#link = new Link({
      open,
      frames,
      peer: ANYBODY,
      origin,
      limits,
      log,
      transmit(message) {
        const hasRoom = stream.write(encodeRecord('envelope', message))
        return hasRoom ? undefined : drained(stream, stallTimeoutMs)
      },
    })
    this.ended = new Promise((resolve) => {
      stream.once('close', () => {
        if (!stream.writableEnded) void this.#link.leave()
        resolve()
      })
    })
    void this.#read()
  }

  /** Waits for the replies to the messages that have arrived, ends the stream, and lets the peer read. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    await within(graceMs, this.#link.finish())
    await this.#end()
    if (graceMs > 0) await within(LINGER_MS, this.ended)
    if (!this.#stream.destroyed) this.#stream.close(CODE.noError)
  }

  async #read(): Promise<void> {
    /** When the record that has begun must be complete. */
    let deadline = Number.POSITIVE_INFINITY
    try {
      for (;;) {
        const chunk = await this.#nextBy(deadline)
        if (!chunk) break
        let taken = 0
        for (const record of this.#decoder.push(chunk)) {
          if (this.#isClosing) return
          await this.#link.room()
          if (!this.#take(record)) return
          taken++
        }
        if (this.#decoder.isWhole) deadline = Number.POSITIVE_INFINITY
        else if (taken > 0 || deadline === Number.POSITIVE_INFINITY)
          deadline = performance.now() + this.#options.bodyTimeoutMs
      }
      if (!this.#decoder.isWhole) await this.#link.refuse(brokeOff())
      await this.#link.finish()
      await this.#end()
    } catch (thrown) {
      // The peer has gone, or sends faster than its messages are handled.
      if (!this.#stream.destroyed) await this.#reset(Fault.from(thrown))
    }
  }

  async #nextBy(deadline: number): Promise<Buffer | undefined> {
    if (deadline === Number.POSITIVE_INFINITY) return this.#inbox.next()
    const leftMs = deadline - performance.now()
    if (leftMs <= 0 && !this.#inbox.hasEnded) throw messageTooSlow()
    return this.#inbox.next(leftMs)
  }

  /** False if nothing can be read after this. */
  #take(record: DecodedRecord): boolean {
    switch (record.kind) {
      case 'envelope':
        void this.#link.receive(record.content)
        return true
      case 'heartbeat':
        return true
      case 'frame':
        void this.#link.refuse(notAnEnvelope())
        return true
      case 'too-large':
        void this.#link.refuse(messageTooLarge(this.#options.limits.maxBytes))
        return true
      case 'broken':
        void this.#reset(notRecords())
        return false
    }
  }

  /** OpenCALL, "QUIC Binding", errors: an error envelope on the stream before it is reset. */
  async #reset(fault: Fault): Promise<void> {
    await this.#link.refuse(fault)
    await this.#link.close(AbortSignal.timeout(LINGER_MS))
    this.#inbox.discard(Number.POSITIVE_INFINITY, () => undefined)
    // A reset discards what is still under way.
    await within(LINGER_MS, this.ended)
    if (!this.#stream.destroyed) this.#stream.close(CODE.internalError)
  }

  async #end(): Promise<void> {
    await this.#link.close(AbortSignal.timeout(this.#options.stallTimeoutMs))
    if (!this.#stream.destroyed) this.#stream.end()
  }
}

function brokeOff(): Fault {
  const message = 'The stream ended inside a record; send the whole record again on a new stream.'
  return new Fault('malformed', message, { code: 'BODY_INCOMPLETE', retryable: true })
}

function notAnEnvelope(): Fault {
  return new Fault('malformed', 'Send envelopes only: records of the kind 1.', { code: 'INVALID_RECORD' })
}

function notRecords(): Fault {
  const message = 'The bytes are no records. Send the kind (1 byte), the length (4 bytes, big-endian) and the content.'
  return new Fault('malformed', message, { code: 'INVALID_RECORD' })
}
