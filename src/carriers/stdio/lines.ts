/**
 * Messages as lines, one each, on a pair of streams such as standard input and output. It knows no protocol. A line may
 * come in pieces and several at once; what is longer than the limit is told to the session and thrown away.
 */
import type { Readable, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

export interface LineStreams {
  input: Readable
  output: Writable
  /** Of one line. */
  maxBytes: number
}

export interface LineSession {
  receive(line: string): void
  /** A line was too long to be taken. */
  overflow(): void
  /** Resolves when everything that came has been answered. */
  finished(): Promise<void>
  close(): Promise<void>
}

/** Resolves when the input has ended and all of it was answered, or the signal aborts, and the session has closed. */
export async function serveLines(
  { input, output, maxBytes }: LineStreams,
  open: (send: (line: string) => void) => LineSession,
  signal: AbortSignal,
): Promise<void> {
  const session = open((line) => void output.write(`${line}\n`))
  const lines = new Lines(session, maxBytes)
  const done = Promise.withResolvers<void>()
  const take = (chunk: Buffer) => lines.take(chunk)
  const finish = () => session.finished().then(done.resolve, done.reject)
  const leave = () => done.resolve()
  input.on('data', take).once('end', finish).once('error', done.reject)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  try {
    await done.promise
  } finally {
    signal.removeEventListener('abort', leave)
    input.off('data', take).off('end', finish).off('error', done.reject).pause()
    await session.close()
  }
}

class Lines {
  readonly #session: LineSession
  readonly #maxBytes: number
  readonly #decoder = new StringDecoder('utf8')
  #pieces: string[] = []
  #length = 0
  #tooLong = false

  constructor(session: LineSession, maxBytes: number) {
    this.#session = session
    this.#maxBytes = maxBytes
  }

  take(chunk: Buffer): void {
    const [first = '', ...more] = this.#decoder.write(chunk).split('\n')
    this.#add(first)
    for (const piece of more) {
      this.#finish()
      this.#add(piece)
    }
  }

  #add(piece: string): void {
    this.#length += piece.length
    if (this.#length > this.#maxBytes) {
      this.#tooLong = true
      this.#pieces = []
    } else this.#pieces.push(piece)
  }

  #finish(): void {
    const line = this.#pieces.join('').trim()
    const tooLong = this.#tooLong
    this.#pieces = []
    this.#length = 0
    this.#tooLong = false
    if (tooLong) this.#session.overflow()
    else if (line !== '') this.#session.receive(line)
  }
}
