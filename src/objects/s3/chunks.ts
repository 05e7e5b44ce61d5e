/**
 * Chunked objects: an object for the head and one for each chunk, with the facts in their metadata. A chunk is created
 * with a condition, so it never changes.
 */
import { hash, randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Chunk, ChunksInfo } from '../../core/ports/objects.ts'
import {
  type ChunkFacts,
  type ChunkPlace,
  countChunks,
  type Head,
  removed,
  type StoredFacts,
} from '../../platform/objects/chunk-place.ts'
import { damaged } from '../../platform/objects/ids.ts'
import type { Bucket } from './bucket.ts'
import { contentType, decodeFacts, encodeFacts, type HeadFacts } from './facts.ts'
import { EMPTY_HASH } from './http/sigv4.ts'
import type { Keys, ObjectKeys } from './keys.ts'

const NOTHING = Buffer.alloc(0)
const ONLY_NEW = { 'if-none-match': '*' }
/** Chains whose length is remembered, so that a reader who follows one asks for its end only. */
const REMEMBERED = 1_000
const READ_TRIES = 2

export class Chunks {
  readonly #bucket: Bucket
  readonly #keys: Keys
  readonly #known = new LRUCache<string, { chain: string; count: number; newest: StoredFacts }>({ max: REMEMBERED })

  constructor(bucket: Bucket, keys: Keys) {
    this.#bucket = bucket
    this.#keys = keys
  }

  place(id: string): ChunkPlace {
    const keys = this.#keys.place(id)
    let isNew = false
    return {
      begin: async (head) => {
        isNew = await this.#createHead(keys, head)
        return isNew ? head : this.#existingHead(keys)
      },
      count: async () => (isNew ? 0 : countChunks(async (index) => (await this.#facts(keys, index)) !== undefined)),
      create: (index, bytes, facts) => this.#create(keys, index, bytes, facts),
      facts: (index) => this.#facts(keys, index),
    }
  }

  async read(id: string, index: number): Promise<Chunk | undefined> {
    const keys = this.#keys.find(id)
    if (!keys || !Number.isSafeInteger(index) || index < 0) return undefined
    for (let tries = 1; ; tries++) {
      const there = await this.#bucket.get(keys.chunk(index))
      if (!there) return undefined
      const { offset, checksum, previous, last } = decodeFacts<ChunkFacts>(there)
      const { body } = there
      if (`sha256:${hash('sha256', body)}` === checksum)
        return { index, offset, length: body.length, checksum, checksumPrevious: previous, last, bytes: body }
      // The bytes may have been damaged on their way.
      if (tries === READ_TRIES) throw damaged(new Error('The chunk that S3 sent does not have its checksum.'))
    }
  }

  async info(id: string): Promise<ChunksInfo | undefined> {
    const keys = this.#keys.find(id)
    const head = keys && (await this.#head(keys))
    if (!head) return undefined
    const { mimeType, chain } = head
    const { count, newest } = await this.#length(keys, chain)
    const bytes = newest ? newest.facts.offset + newest.bytes : 0
    return { count, bytes, finished: newest?.facts.last === true, mimeType }
  }

  /** Chains only grow, so the search starts where the last one ended. */
  async #length(keys: ObjectKeys, chain: string): Promise<{ count: number; newest?: StoredFacts }> {
    const known = this.#known.get(keys.head)
    const usable = known?.chain === chain ? known : undefined
    if (usable?.newest.facts.last) return usable
    let newest = usable?.newest
    const count = await countChunks(async (index) => {
      const facts = await this.#facts(keys, index)
      if (facts && facts.facts.offset >= (newest?.facts.offset ?? 0)) newest = facts
      return facts !== undefined
    }, usable?.count)
    if (!newest) return { count: 0 }
    this.#known.set(keys.head, { chain, count, newest })
    return { count, newest }
  }

  /** Written without a look, because most chains are new. Returns false if there is one. */
  async #createHead(keys: ObjectKeys, head: Head): Promise<boolean> {
    const facts: HeadFacts = { ...head, chain: randomUUID() }
    const headers = { ...encodeFacts(facts), ...ONLY_NEW }
    return (await this.#bucket.put(keys.head, NOTHING, EMPTY_HASH, headers)) === 'written'
  }

  async #existingHead(keys: ObjectKeys): Promise<Head> {
    const there = await this.#head(keys)
    if (!there) throw removed()
    return there
  }

  async #create(keys: ObjectKeys, index: number, bytes: Uint8Array, facts: ChunkFacts): Promise<boolean> {
    const headers = { ...contentType('application/octet-stream'), ...encodeFacts(facts), ...ONLY_NEW }
    const bodyHash = facts.checksum.slice('sha256:'.length)
    if ((await this.#bucket.put(keys.chunk(index), bytes, bodyHash, headers)) === 'condition-failed') return false
    // S3 has no folders that would be gone. A look at every chunk would cost a request each, so only the last one is
    // certain. What a removed call wrote before, the sweep removes.
    if (facts.last && !(await this.#head(keys))) {
      await this.#bucket.remove([keys.chunk(index)])
      throw removed()
    }
    return true
  }

  async #head(keys: ObjectKeys): Promise<HeadFacts | undefined> {
    const there = await this.#bucket.head(keys.head)
    return there && decodeFacts<HeadFacts>(there)
  }

  async #facts(keys: ObjectKeys, index: number): Promise<StoredFacts | undefined> {
    const there = await this.#bucket.head(keys.chunk(index))
    return there && { bytes: there.bytes, facts: decodeFacts<ChunkFacts>(there) }
  }
}
