/**
 * One connection between two nodes, and the pipes in it. Both sides can open pipes. The connection ends when the other
 * side is silent, and takes its pipes with it. Who may connect is decided before (`listener.ts`, `dial.ts`).
 */
import type { TLSSocket } from 'node:tls'
import type { Pipe, PipeMessage, Pipes } from '../../../core/ports/peers.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { within } from '../../../core/within.ts'
import { Decoder, decodeMessage, encode, encodeMessage, KIND, MAX_PAYLOAD_BYTES } from './wire.ts'

export interface LinkParts {
  socket: TLSSocket
  /** True on the side that connected. That side closes the link when it is idle. */
  dialed: boolean
  clock: Clock
  log: Log | undefined
  accepts: Parameters<Pipes['accept']>[0]
}

interface End {
  receiver: (message: PipeMessage) => void
  readonly closing: AbortController
  /** Set while the other side decides. */
  answered?: (accepted: boolean) => void
}

export const BEAT_EVERY_MS = 2_000
/** Beats are counted instead of time, so that a pause of this process does not look like a silent peer. */
const MOST_SILENT_BEATS = 4
const MOST_IDLE_BEATS = 15
const ANSWER_MS = 10_000
/** The users of pipes bound the messages under way. This bounds all of them together. */
const MOST_UNSENT_BYTES = 256 * 1024 * 1024

export class Link {
  readonly #parts: LinkParts
  readonly #ends = new Map<number, End>()
  readonly #decoder = new Decoder((kind, pipe, payload) => this.#receive(kind, pipe, payload))
  readonly #heardFirst = Promise.withResolvers<boolean>()
  readonly #over = Promise.withResolvers<void>()
  #isOpen = true
  #corked = false
  #heard = false
  #silentBeats = 0
  #idleBeats = 0
  #cancelBeat = () => {}
  #next: number

  constructor(parts: LinkParts) {
    this.#parts = parts
    this.#next = parts.dialed ? 1 : 2
    const { socket } = parts
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (err) => parts.log?.debug({ err }, 'a link to another node broke'))
    socket.on('close', () => this.#ended())
    // The first beat tells the side that dialed that it was let in.
    this.#beat()
    if (socket.destroyed) this.#ended()
  }

  get isOpen(): boolean {
    return this.#isOpen && this.#parts.socket.writable
  }

  /** Resolves to true with the first message of the other side, and to false if the link ends before. */
  get ready(): Promise<boolean> {
    return this.#heardFirst.promise
  }

  get over(): Promise<void> {
    return this.#over.promise
  }

  /** `undefined` if the other side refuses, does not answer, or is gone. */
  async open(about: string): Promise<Pipe | undefined> {
    if (!this.isOpen) return undefined
    const number = this.#next
    this.#next += 2
    const answer = Promise.withResolvers<boolean>()
    const pipe = this.#create(number, answer.resolve)
    this.#send(encode(KIND.open, number, about))
    const accepted = await within(this.#parts.clock, ANSWER_MS, answer.promise)
    if (accepted) return pipe
    if (accepted === undefined) pipe.close()
    return undefined
  }

  /** Messages that were sent before still arrive. */
  close(): void {
    this.#parts.socket.destroySoon()
  }

  destroy(): void {
    this.#parts.socket.destroy()
  }

  #create(number: number, answered?: (accepted: boolean) => void): Pipe {
    const end: End = { receiver: () => {}, closing: new AbortController(), ...(answered && { answered }) }
    this.#ends.set(number, end)
    return {
      signal: end.closing.signal,
      send: (message) => {
        if (this.#ends.get(number) !== end) return
        const encoded = encodeMessage(number, message)
        if (encoded) return this.#send(encoded)
        this.#parts.log?.warn({ mostBytes: MAX_PAYLOAD_BYTES }, 'a frame is too large to forward to another node')
        this.#closeHere(number)
      },
      receive(receiver) {
        end.receiver = receiver
      },
      close: () => {
        if (this.#ends.get(number) === end) this.#closeHere(number)
      },
    }
  }

  #closeHere(number: number): void {
    this.#send(encode(KIND.close, number))
    this.#drop(number)
  }

  #drop(number: number): void {
    const end = this.#ends.get(number)
    this.#ends.delete(number)
    end?.answered?.(false)
    end?.closing.abort()
  }

  #read(chunk: Buffer): void {
    this.#heard = true
    try {
      this.#decoder.push(chunk)
    } catch (err) {
      this.#fail('a message of it is wrong', err)
    }
  }

  #receive(kind: number, number: number, payload: Buffer): void {
    if (!this.#isOpen) return
    if (kind === KIND.beat) this.#heardFirst.resolve(true)
    else if (kind === KIND.open) this.#offer(number, payload.toString())
    else if (kind === KIND.refused || kind === KIND.close) this.#drop(number)
    else if (kind === KIND.accepted) this.#accepted(number)
    else {
      const message = decodeMessage(kind, payload)
      // Later versions may send further kinds.
      if (message !== undefined) this.#ends.get(number)?.receiver(message)
    }
  }

  #offer(number: number, about: string): void {
    if (this.#ends.has(number) || number % 2 === this.#next % 2) throw new Error('A pipe has a number that is taken.')
    void this.#answer(number, about, this.#create(number))
  }

  async #answer(number: number, about: string, pipe: Pipe): Promise<void> {
    const { accepts, log } = this.#parts
    let accepted = false
    try {
      accepted = await accepts(about, pipe)
    } catch (err) {
      log?.warn({ err }, 'could not accept the reader of another node')
    }
    // The other side may have stopped waiting.
    if (pipe.signal.aborted) return
    this.#send(encode(accepted ? KIND.accepted : KIND.refused, number))
    if (!accepted) this.#drop(number)
  }

  #accepted(number: number): void {
    const end = this.#ends.get(number)
    end?.answered?.(true)
    delete end?.answered
  }

  #send(message: Buffer | undefined): void {
    const { socket } = this.#parts
    if (!message || !this.isOpen) return
    if (socket.writableLength > MOST_UNSENT_BYTES) this.#fail('it does not take its messages')
    else {
      this.#cork()
      socket.write(message)
    }
  }

  /** The frames of one turn leave in one write: the next tick comes after the promises of this one. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#parts.socket.cork()
    process.nextTick(() => {
      this.#corked = false
      this.#parts.socket.uncork()
    })
  }

  #beat(): void {
    const { clock, dialed } = this.#parts
    this.#silentBeats = this.#heard ? 0 : this.#silentBeats + 1
    this.#heard = false
    this.#idleBeats = this.#ends.size === 0 ? this.#idleBeats + 1 : 0
    if (this.#silentBeats >= MOST_SILENT_BEATS) this.#fail('it is silent')
    else if (dialed && this.#idleBeats > MOST_IDLE_BEATS) this.close()
    else {
      this.#send(encode(KIND.beat, 0))
      this.#cancelBeat = clock.schedule(BEAT_EVERY_MS, () => this.#beat())
    }
  }

  #fail(why: string, err?: unknown): void {
    const { socket, log } = this.#parts
    const address = `${socket.remoteAddress}:${socket.remotePort}`
    log?.warn({ address, ...(err !== undefined && { err }) }, `the link to another node is closed: ${why}`)
    this.destroy()
  }

  #ended(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#cancelBeat()
    this.#heardFirst.resolve(false)
    for (const number of [...this.#ends.keys()]) this.#drop(number)
    this.#over.resolve()
  }
}
