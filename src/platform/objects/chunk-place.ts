/**
 * The parts of a chunked object, as its writer sees them: a head and numbered chunks. Each object store implements it.
 * Chunks are created in order and never changed, and the last one is marked as the last. There is no separate count
 * that could disagree with them.
 */
import { Fault } from '../../core/fault.ts'
import type { ChunkOptions } from '../../core/ports/objects.ts'

/** An object keeps the chunk size it was created with, even if the setting has changed when it is written again. */
export type Head = ChunkOptions

export interface ChunkFacts {
  offset: number
  checksum: string
  previous: string | null
  last: boolean
}

export interface StoredFacts {
  /** The size of the chunk. */
  bytes: number
  facts: ChunkFacts
}

export interface ChunkPlace {
  /** Creates the object with this head. If the object exists, returns its head. */
  begin(head: Head): Promise<Head>
  count(): Promise<number>
  /**
   * Returns false if the chunk already exists. Otherwise it is durable afterwards. Throws `removed` if the object was
   * removed since it began, at the latest with the last chunk.
   */
  create(index: number, bytes: Uint8Array, facts: ChunkFacts): Promise<boolean>
  facts(index: number): Promise<StoredFacts | undefined>
}

/**
 * Finds the first missing index by doubling, then halving, because chunks have no gaps: 24 lookups for 4,096 chunks.
 * All chunks below `known` exist.
 */
export async function countChunks(exists: (index: number) => Promise<boolean>, known = 0): Promise<number> {
  let present = known
  let missing = known
  while (await exists(missing)) {
    present = missing + 1
    missing = known + (missing - known) * 2 + 1
  }
  while (present < missing) {
    const middle = Math.floor((present + missing) / 2)
    if (await exists(middle)) present = middle + 1
    else missing = middle
  }
  return present
}

export function removed(cause?: unknown): Fault {
  return new Fault('not-found', 'The result was removed while it was being written; call the operation again.', {
    ...(cause !== undefined && { cause }),
  })
}
