/** Reads the body of a Fetch request: as one bounded text, or in chunks for a parser. */
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

/** `undefined` ends the text. An incomplete character at the end is an error. */
function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array | undefined): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw bodyNotUtf8()
  }
}

/** Reads one chunk per call and nothing between calls, so that a slow reader slows the client down. */
export class BodyPuller {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #finished = false

  constructor(request: Request) {
    if (request.bodyUsed || request.body?.locked) throw bodyAlreadyRead()
    this.#reader = request.body?.getReader()
  }

  /** Returns the next bytes, or `undefined` at the end. */
  async next(waitMs: number): Promise<Uint8Array | undefined> {
    if (!this.#reader) return undefined
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(bodyTooSlow()), Math.max(0, waitMs))
    const read = this.#reader.read().catch(() => {
      throw bodyBrokeOff()
    })
    // If the timeout wins the race, a later failure of this promise must not count as unhandled.
    read.catch(() => undefined)
    try {
      const { done, value } = await Promise.race([read, late.promise])
      this.#finished = done
      return done ? undefined : value
    } finally {
      clearTimeout(timer)
    }
  }

  /** Must be called at the end in every case. It cancels the unread rest, so that the host can release the body. */
  release(): void {
    if (!this.#reader || this.#finished) return
    // A failure while the body is canceled has no consequence.
    this.#reader.cancel().catch(() => undefined)
  }
}
