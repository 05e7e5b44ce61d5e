/**
 * Reads multipart/form-data (RFC 7578, RFC 2046) from a source of chunks: one part at a time, and no faster than the
 * caller reads the parts. No library is used, because libraries decode a part without a file name as text and hold it
 * in memory. Here every part is bytes.
 */

import { Fault } from '../../core/fault.ts'
import type { Part, PartLimits } from '../../core/ports/exchange.ts'
import { invalidMultipart, parseBoundary, parsePartHead } from './part-head.ts'

/** Returns the next bytes, or `undefined` at the end. */
export type PullBytes = () => Promise<Uint8Array | undefined>

const CR = 0x0d
const LF = 0x0a
const EMPTY = new Uint8Array(0)

export async function* parseMultipart(contentType: string, pull: PullBytes, limits: PartLimits): AsyncGenerator<Part> {
  const input = new MultipartInput(parseBoundary(contentType), pull)
  await input.skipContent(limits.maxHeaderBytes, 'The body does not start with the boundary its content type names.')
  for (let count = 0; await input.hasNextPart(limits.maxHeaderBytes); count += 1) {
    if (count === limits.maxParts) {
      throw invalidMultipart(`The body has more than the ${limits.maxParts} parts allowed here; send fewer.`)
    }
    yield { ...parsePartHead(await input.readHead(limits.maxHeaderBytes)), bytes: input.content() }
    // Skips the rest of this part, in order to find the next one.
    await input.skipContent()
  }
  await input.skipEpilogue(limits.maxHeaderBytes)
}

class MultipartInput {
  readonly #pull: PullBytes
  /** Includes the line break before the boundary, which ends a part's content. */
  readonly #delimiter: Needle
  readonly #headEnd = new Needle(Uint8Array.of(CR, LF, CR, LF))
  /** Starts with a line break, because the first delimiter may be at the very start of the body. */
  #held: Uint8Array = Uint8Array.of(CR, LF)
  #atDelimiter = false
  #part = 0

  constructor(boundary: string, pull: PullBytes) {
    this.#pull = pull
    this.#delimiter = new Needle(new TextEncoder().encode(`\r\n--${boundary}`))
  }

  /** Skips everything up to and including the next delimiter. */
  async skipContent(maxBytes = Number.POSITIVE_INFINITY, complaint = ''): Promise<void> {
    let skipped = 0
    for (;;) {
      const bytes = await this.#nextContent()
      if (bytes === undefined) break
      skipped += bytes.length
      if (skipped > maxBytes) throw invalidMultipart(complaint)
    }
    this.#atDelimiter = false
    this.#part += 1
  }

  /** Reads what follows a delimiter: a line break before a part, or `--` at the end. */
  async hasNextPart(maxBytes: number): Promise<boolean> {
    await this.#skipPadding(maxBytes)
    while (this.#held.length < 2) await this.#more()
    const [first, second] = this.#held
    this.#held = this.#held.subarray(2)
    if (first === CR && second === LF) return true
    if (first === 0x2d && second === 0x2d) return false
    throw invalidMultipart('A boundary in the body is followed by something that is neither a line break nor "--".')
  }

  /** RFC 2046 allows white space between the boundary and its line break. */
  async #skipPadding(maxBytes: number): Promise<void> {
    for (let skipped = 0; ; ) {
      const end = this.#held.findIndex((byte) => byte !== 0x20 && byte !== 0x09)
      const padding = end < 0 ? this.#held.length : end
      this.#held = this.#held.subarray(padding)
      skipped += padding
      if (skipped > maxBytes) {
        throw invalidMultipart(`A boundary in the body is followed by more than ${maxBytes} spaces; send none.`)
      }
      if (end >= 0) return
      await this.#more()
    }
  }

  /** Returns the header lines of a part, without the empty line that ends them. */
  async readHead(maxBytes: number): Promise<Uint8Array> {
    // A part without headers starts with the empty line. It has no name, which the head's parser reports.
    for (;;) {
      if (this.#held.length >= 2 && this.#held[0] === CR && this.#held[1] === LF) return EMPTY
      const end = this.#headEnd.indexIn(this.#held)
      if (end > maxBytes || (end < 0 && this.#held.length > maxBytes + 4)) {
        throw invalidMultipart(`The headers of a part are larger than the ${maxBytes} bytes allowed here.`)
      }
      if (end >= 0) {
        const head = this.#held.subarray(0, end)
        this.#held = this.#held.subarray(end + 4)
        return head
      }
      await this.#more()
    }
  }

  /**
   * The content of the last part whose head was read. A caller can pause and resume until the next part is requested.
   */
  content(): AsyncIterable<Uint8Array> {
    return this.#contentOf(this.#part)
  }

  async *#contentOf(part: number): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (part !== this.#part) {
        throw new Fault('internal', 'A part was read after the next one was requested; read each part before the next.')
      }
      const bytes = await this.#nextContent()
      if (bytes === undefined) return
      yield bytes
    }
  }

  async #nextContent(): Promise<Uint8Array | undefined> {
    const delimiter = this.#delimiter.bytes
    while (!this.#atDelimiter) {
      const at = this.#delimiter.indexIn(this.#held)
      // Without a delimiter, everything is content except the tail, which may be the start of a delimiter.
      const sure = at >= 0 ? at : this.#held.length - delimiter.length + 1
      const bytes = this.#held.subarray(0, Math.max(0, sure))
      this.#atDelimiter = at >= 0
      this.#held = this.#held.subarray(bytes.length + (at >= 0 ? delimiter.length : 0))
      if (bytes.length > 0) return bytes
      if (at < 0) await this.#more()
    }
    return undefined
  }

  async skipEpilogue(maxBytes: number): Promise<void> {
    let skipped = 0
    for (let bytes: Uint8Array | undefined = this.#held; bytes !== undefined; bytes = await this.#pull()) {
      skipped += bytes.length
      if (skipped > maxBytes) throw invalidMultipart('The body continues after its last boundary; end it there.')
    }
  }

  async #more(): Promise<void> {
    const bytes = await this.#pull()
    if (bytes === undefined) throw invalidMultipart('The body ends before its last boundary; send the whole body.')
    this.#held = this.#held.length === 0 ? bytes : concat(this.#held, bytes)
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

/** Horspool's search: compares one byte per needle length. Boundaries are long, so it reads 1 GB/s and more. */
class Needle {
  readonly bytes: Uint8Array
  /** By the byte under the needle's end: how far the needle can safely move. */
  readonly #steps = new Int32Array(256)

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#steps.fill(bytes.length)
    for (let at = 0; at < bytes.length - 1; at += 1) this.#steps[bytes[at] as number] = bytes.length - 1 - at
  }

  indexIn(held: Uint8Array): number {
    const { bytes } = this
    const end = bytes.length - 1
    for (let at = end; at < held.length; at += this.#steps[held[at] as number] as number) {
      let back = 0
      while (back <= end && held[at - back] === bytes[end - back]) back += 1
      if (back > end) return at - end
    }
    return -1
  }
}
