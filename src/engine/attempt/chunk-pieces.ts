/** Reads the pieces of a chunked result from a handler's iterable of strings and bytes. */
import type { ChunkSource } from '../../core/operation/returned.ts'

/** Passes each piece to `write` as bytes. Returns the return value of a generator. */
export async function pumpPieces(source: ChunkSource, write: (bytes: Uint8Array) => Promise<void>): Promise<unknown> {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  const encoder = new TextEncoder()
  // A string may end in the middle of a surrogate pair. The first half is kept until the second arrives.
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
    // Like `for await`: a generator that is not read to its end can clean up. An error in its cleanup is ignored.
    if (!ended) await closeQuietly(pieces)
    throw thrown
  }
}

async function closeQuietly(pieces: AsyncIterator<unknown> | Iterator<unknown>): Promise<void> {
  try {
    await pieces.return?.()
  } catch {
    // The caller throws the error that stopped the reading. It is the one to report.
  }
}

/** The object id of the chunks of a call's result. */
export function chunksId(instanceId: string): string {
  return `${instanceId}/chunks`
}
