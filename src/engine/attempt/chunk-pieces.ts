/** Pulls the pieces of a chunked result from what a handler gave: an iterable of texts and bytes. */
import type { ChunkSource } from '../../core/operation.ts'

/** Hands each piece to `write` as bytes, and returns what a generator returned at its end. */
export async function pumpPieces(source: ChunkSource, write: (bytes: Uint8Array) => Promise<void>): Promise<unknown> {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  const encoder = new TextEncoder()
  // Text pieces may end in the middle of a surrogate pair: its first half waits for the second.
  let half = ''
  let ended = false
  try {
    for (;;) {
      const { value, done = false } = await pieces.next()
      if (done) {
        ended = true
        if (half !== '') await write(encoder.encode(half))
        return value
      }
      if (typeof value === 'string') {
        const text = half + value
        half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ''
        await write(encoder.encode(text.slice(0, text.length - half.length)))
      } else {
        await write(value as Uint8Array)
      }
    }
  } catch (thrown) {
    // As `for await` does: a generator that is not read to its end gets to clean up, and its own complaint comes second.
    if (!ended) await closeQuietly(pieces)
    throw thrown
  }
}

async function closeQuietly(pieces: AsyncIterator<unknown> | Iterator<unknown>): Promise<void> {
  try {
    await pieces.return?.()
  } catch {
    // The failure that ended the reading is the one to tell.
  }
}

/** Under which id the object store has the chunks of a call's result. */
export function chunksId(instanceId: string): string {
  return `${instanceId}/chunks`
}
