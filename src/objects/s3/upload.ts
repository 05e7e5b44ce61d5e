/**
 * Sends a source of unknown length. Up to one part it is collected for a single PUT. A longer one is sent in parts, one
 * on its way while the next is collected.
 */
import { createHash } from 'node:crypto'
import type { Log } from '../../core/ports/runtime.ts'
import { tooLarge } from '../../platform/objects/ids.ts'
import type { Bucket, Headers, SentPart } from './bucket.ts'
import type { Budget } from './budget.ts'
import { unreachable } from './http/problems.ts'
import { PartBuffer } from './part-buffer.ts'

export interface UploadParts {
  bucket: Bucket
  budget: Budget
  log: Pick<Log, 'warn'>
  partBytes: number
}

export interface UploadWish {
  maxBytes: number
  /** Where a source of several parts goes. */
  key: string
  headers: Headers
}

export interface Collected {
  bytes: number
  sha256: string
  /** All bytes. Absent if they were sent in parts. */
  body?: Buffer
}

/** S3 allows this many parts. */
const MAX_PARTS = 10_000
/** Larger parts would need too much memory: this is for objects of more than 80 GB. */
const MAX_PART_BYTES = 64 * 1024 * 1024

/** `finish` gets what was collected, and the memory is free after it. */
export async function upload<T>(
  { bucket, budget, log, partBytes }: UploadParts,
  source: AsyncIterable<Uint8Array>,
  wish: UploadWish,
  finish: (collected: Collected) => Promise<T>,
): Promise<T> {
  const { key, headers } = wish
  // Parts of one size, because not every server accepts others.
  const size = Math.max(partBytes, Math.min(MAX_PART_BYTES, Math.ceil(wish.maxBytes / MAX_PARTS)))
  const maxBytes = Math.min(wish.maxBytes, size * MAX_PARTS)
  const digest = createHash('sha256')
  let part = new PartBuffer(budget, size)
  let parts: Parts | undefined
  let bytes = 0
  try {
    for await (const piece of source) {
      bytes += piece.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      digest.update(piece)
      for (let at = 0; at < piece.length; ) {
        if (part.isFull) {
          parts ??= await Parts.start(bucket, key, headers)
          await parts.send(part)
          part = new PartBuffer(budget, size)
        }
        at += await part.append(piece.subarray(at))
      }
    }
    const sha256 = digest.digest('hex')
    if (!parts) return await finish({ bytes, sha256, body: part.bytes })
    await parts.send(part)
    await parts.complete()
    return await finish({ bytes, sha256 })
  } catch (thrown) {
    await parts?.abort(log)
    throw thrown
  } finally {
    part.release()
  }
}

/** One upload in parts. */
class Parts {
  readonly #bucket: Bucket
  readonly #key: string
  readonly #upload: string
  readonly #sent: SentPart[] = []
  /** The part on its way. */
  #sending: Promise<void> = Promise.resolve()
  #completed = false

  private constructor(bucket: Bucket, key: string, upload: string) {
    this.#bucket = bucket
    this.#key = key
    this.#upload = upload
  }

  static async start(bucket: Bucket, key: string, headers: Headers): Promise<Parts> {
    return new Parts(bucket, key, await bucket.startUpload(key, headers))
  }

  /** Waits for the part before, and returns while this one is on its way. It releases the memory of the part. */
  async send(part: PartBuffer): Promise<void> {
    await this.#sending
    const number = this.#sent.length + 1
    this.#sending = this.#bucket
      .uploadPart(this.#key, this.#upload, number, part.bytes)
      .then((sent) => void this.#sent.push(sent))
      .finally(() => part.release())
    // The next call reports the failure, not the process.
    this.#sending.catch(() => {})
  }

  async complete(): Promise<void> {
    await this.#sending
    const written = await this.#bucket.completeUpload(this.#key, this.#upload, this.#sent)
    // The key is of this upload alone. If it exists, the response to an earlier try of this request was lost.
    if (written === 'condition-failed' && !(await this.#bucket.head(this.#key)))
      throw unreachable(new Error('S3 has lost the parts of an upload. A lifecycle rule may have removed them.'))
    this.#completed = true
  }

  /** Unfinished uploads cost storage. What cannot be aborted now, a lifecycle rule removes. */
  async abort(log: Pick<Log, 'warn'>): Promise<void> {
    await this.#sending.catch(() => {})
    if (this.#completed) return
    try {
      await this.#bucket.abortUpload(this.#key, this.#upload)
    } catch (err) {
      log.warn({ err }, 'could not abort an upload to the object storage')
    }
  }
}
