/** One chunked object in memory. A chunk that was read never changes: a second writer must write the same bytes. */
import { isUtf8 } from 'node:buffer'
import { Fault } from '../../core/fault.ts'
import type { Chunk, ChunkOptions, ChunksInfo, ChunkWriter } from '../../core/ports/objects.ts'
import { sha256 } from '../suites/objects/object-content.ts'

/** The longest code point in UTF-8. A smaller chunk of text might not hold one. */
const LONGEST_CODE_POINT = 4

export class MemoryChunks {
  readonly #options: ChunkOptions
  readonly #size: number
  readonly #chunks: Chunk[] = []

  constructor(options: ChunkOptions) {
    this.#options = options
    this.#size = options.text ? Math.max(options.chunkBytes, LONGEST_CODE_POINT) : options.chunkBytes
  }

  get info(): ChunksInfo {
    const last = this.#chunks.at(-1)
    return {
      count: this.#chunks.length,
      bytes: last ? last.offset + last.length : 0,
      finished: last?.last === true,
      mimeType: this.#options.mimeType,
    }
  }

  chunk(index: number): Chunk | undefined {
    return this.#chunks[index]
  }

  /** `exists` returns true while the object exists. */
  writer({ mimeType, text }: ChunkOptions, exists: () => boolean): ChunkWriter {
    if (mimeType !== this.#options.mimeType || text !== this.#options.text) throw diverged()
    let index = 0
    let pending = Buffer.alloc(0)
    let failure: unknown
    const step = (act: () => void) => {
      if (failure !== undefined) throw failure
      try {
        if (!exists()) throw new Fault('not-found', 'The result was removed while it was being written.')
        act()
      } catch (thrown) {
        failure = thrown
        throw thrown
      }
    }
    return {
      write: async (bytes) =>
        step(() => {
          pending = Buffer.concat([pending, bytes])
          while (pending.length > this.#size) {
            const end = this.#cutAt(pending)
            this.#announce(index++, pending.subarray(0, end), false)
            pending = pending.subarray(end)
          }
        }),
      finish: async () => {
        step(() => this.#announce(index, pending, true))
        return this.info
      },
    }
  }

  /** Cuts text between code points. Invalid UTF-8 is detected when a chunk is announced. */
  #cutAt(pending: Uint8Array): number {
    let end = this.#size
    if (!this.#options.text) return end
    while (end > this.#size - LONGEST_CODE_POINT && ((pending[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end--
    return end > this.#size - LONGEST_CODE_POINT ? end : this.#size
  }

  #announce(index: number, content: Uint8Array, last: boolean): void {
    if (this.#options.text && !isUtf8(content)) {
      throw new Fault('internal', `The result was announced as ${this.#options.mimeType} but is not UTF-8.`, {
        code: 'RESULT_NOT_TEXT',
      })
    }
    const before = this.#chunks[index - 1]
    const chunk: Chunk = {
      index,
      offset: before ? before.offset + before.length : 0,
      length: content.length,
      checksum: `sha256:${sha256(content)}`,
      checksumPrevious: before?.checksum ?? null,
      last,
      bytes: new Uint8Array(content),
    }
    const there = this.#chunks[index]
    if (there && (there.checksum !== chunk.checksum || there.last !== last)) throw diverged()
    // Nothing follows the last chunk.
    if (before?.last) throw diverged()
    this.#chunks[index] ??= chunk
  }
}

function diverged(): Fault {
  const developerMessage = 'A chunked operation must produce the same bytes in every attempt.'
  const message = 'The operation ran again and its result differs from the part already sent; start a new call.'
  return new Fault('internal', message, { code: 'CHUNKS_DIVERGED', developerMessage })
}
