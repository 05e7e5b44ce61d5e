/**
 * The parts of a multipart body from a client that must keep a minimum pace. A large upload may take long, but a silent
 * or very slow client would hold a connection. Only time spent waiting for the client counts.
 */
import type { Part, PartLimits } from '../../core/ports/exchange.ts'
import { bodyTooSlow } from './body-faults.ts'
import { parseMultipart } from './multipart.ts'

export interface UploadPace {
  /** Time limit for the head of a part and for a text part. */
  readonly bodyTimeoutMs: number
  /** How long the client may send nothing. */
  readonly idleTimeoutMs: number
  /** The minimum that the client must send per period. */
  readonly slowestUpload: { readonly bytes: number; readonly inMs: number }
}

/** 1 KiB a second. */
export const SLOWEST_UPLOAD = { bytes: 30 * 1024, inMs: 30_000 }

/** Returns the next bytes, or `undefined` at the end. Throws a fault after `waitMs`. */
export type TakeBytes = (waitMs: number) => Promise<Uint8Array | undefined>

export async function* readPacedParts(
  contentType: string,
  take: TakeBytes,
  limits: PartLimits,
  pace: UploadPace,
): AsyncGenerator<Part> {
  const client = new PacedClient(take, pace)
  client.mustFinishSoon()
  for await (const part of parseMultipart(contentType, () => client.pull(), limits)) {
    if (part.name === limits.textPart) client.mustFinishSoon()
    else client.mayTakeLong()
    yield part
    client.mustFinishSoon()
  }
}

class PacedClient {
  readonly #take: TakeBytes
  readonly #pace: UploadPace
  /** The time left for a head or a text part. */
  #leftMs = Number.POSITIVE_INFINITY
  /** The time waited in the current period of the minimum pace. */
  #waitedMs = 0
  #bytes = 0

  constructor(take: TakeBytes, pace: UploadPace) {
    this.#take = take
    this.#pace = pace
  }

  mustFinishSoon(): void {
    this.#leftMs = this.#pace.bodyTimeoutMs
  }

  mayTakeLong(): void {
    this.#leftMs = Number.POSITIVE_INFINITY
  }

  async pull(): Promise<Uint8Array | undefined> {
    const { idleTimeoutMs, slowestUpload } = this.#pace
    if (this.#leftMs <= 0) throw bodyTooSlow()
    // The bytes that are missing in this period must arrive before it ends.
    const owes = this.#bytes < slowestUpload.bytes
    const untilOverMs = owes ? slowestUpload.inMs - this.#waitedMs : idleTimeoutMs
    const startedAt = performance.now()
    const bytes = await this.#take(Math.min(idleTimeoutMs, this.#leftMs, untilOverMs))
    const waitedMs = performance.now() - startedAt
    this.#leftMs -= waitedMs
    this.#waitedMs += waitedMs
    this.#bytes += bytes?.length ?? 0
    if (this.#waitedMs >= slowestUpload.inMs && this.#bytes >= slowestUpload.bytes) {
      this.#waitedMs = 0
      this.#bytes = 0
    }
    return bytes
  }
}
