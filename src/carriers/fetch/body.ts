/** Takes the body of a Fetch request: as one bounded text, or chunk by chunk for whoever parses it further. */
import { bodyAlreadyRead, bodyBrokeOff, bodyNotUtf8, bodyTooLarge, bodyTooSlow } from '../../wire/http/body-faults.ts'
import { refuseEncoded } from '../../wire/http/text-encoding.ts'

export async function readText(request: Request, maxBytes: number, timeoutMs: number): Promise<string> {
  const { headers } = request
  refuseEncoded(headers.get('content-type') ?? undefined, headers.get('content-encoding') ?? undefined)
  if (Number(headers.get('content-length')) > maxBytes) throw bodyTooLarge(maxBytes)
  const puller = new BodyPuller(request)
  const deadline = performance.now() + timeoutMs
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let text = ''
  let total = 0
  try {
    for (;;) {
      const chunk = await puller.next(deadline - performance.now())
      total += chunk?.length ?? 0
      if (total > maxBytes) throw bodyTooLarge(maxBytes)
      text += decode(decoder, chunk)
      if (!chunk) return text
    }
  } finally {
    puller.release()
  }
}

/** `undefined` ends the text: half a character at its end is none. */
function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array | undefined): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw bodyNotUtf8()
  }
}

/** Pulls chunks; between pulls the body is left alone, so the client feels the pace of the reader. */
export class BodyPuller {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #finished = false

  constructor(request: Request) {
    if (request.bodyUsed || request.body?.locked) throw bodyAlreadyRead()
    this.#reader = request.body?.getReader()
  }

  /** The next bytes, or nothing at the end. */
  async next(waitMs: number): Promise<Uint8Array | undefined> {
    if (!this.#reader) return undefined
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(bodyTooSlow()), Math.max(0, waitMs))
    const read = this.#reader.read().catch(() => {
      throw bodyBrokeOff()
    })
    // Whichever loses the race is heard by nobody, and must not count as unhandled.
    read.catch(() => undefined)
    try {
      const { done, value } = await Promise.race([read, late.promise])
      this.#finished = done
      return done ? undefined : value
    } finally {
      clearTimeout(timer)
    }
  }

  /** Must be called at the end, whatever the end: what was not read is given up, so that the host can let go of it. */
  release(): void {
    if (!this.#reader || this.#finished) return
    // A body that fails while it is given up concerns nobody any more.
    this.#reader.cancel().catch(() => undefined)
  }
}
