/** The port for object stores. An object store holds bytes. */

/**
 * Holds the bytes of results, chunks and attachments. An object appears whole or not at all. A chunk is durable before
 * it can be read. Ids are `{owner id}/{name}`. All objects of one owner id are removed together.
 */
export interface ObjectStore {
  /**
   * Writes the whole source. Throws if it exceeds `maxBytes`, the source fails or the disk is full, and then leaves no
   * bytes.
   */
  put(id: string, source: AsyncIterable<Uint8Array>, options: PutOptions): Promise<ObjectInfo>
  info(id: string): Promise<ObjectInfo | undefined>
  /** Reads the bytes from `start` up to but not including `end`. */
  read(id: string, range?: { start: number; end: number }): AsyncIterable<Uint8Array>
  /**
   * Opens a chunked object for writing, from its start. Chunks that exist must be written again with the same bytes.
   */
  writeChunks(id: string, options: ChunkOptions): Promise<ChunkWriter>
  /** The chunk at `index`. `undefined` if it has not been announced. */
  chunk(id: string, index: number): Promise<Chunk | undefined>
  /** The chunked object as written so far. */
  chunks(id: string): Promise<ChunksInfo | undefined>
  /**
   * An address where the bytes can be fetched without a credential for this long. `undefined` if there is no such
   * object. Absent if only this server can reach the store.
   */
  link?(id: string, forMs: number): Promise<string | undefined>
  /** Removals that start together may share their work. */
  removeOwner(owner: string): Promise<void>
  /**
   * Owner ids whose bytes were last written more than `untouchedForMs` ago, by the clock that dates the bytes. That
   * clock may differ from the store's. The sweep uses it to find what a crash left behind. A store that lists slowly may
   * leave out owners that it has listed to this process before, until they are twice as old.
   */
  owners(untouchedForMs: number): AsyncIterable<string>
}

export interface PutOptions {
  mimeType: string
  maxBytes: number
  filename?: string
}

export interface ObjectInfo {
  id: string
  bytes: number
  sha256: string
  mimeType: string
  filename?: string
  createdAt: number
}

export interface ChunkOptions {
  mimeType: string
  chunkBytes: number
  /** If true, chunks are split between code points only. */
  text: boolean
}

export interface ChunkWriter {
  write(bytes: Uint8Array): Promise<void>
  finish(): Promise<ChunksInfo>
}

export interface ChunksInfo {
  count: number
  bytes: number
  finished: boolean
  mimeType: string
}

export interface Chunk {
  index: number
  offset: number
  length: number
  /** `sha256:` followed by hex digits. */
  checksum: string
  checksumPrevious: string | null
  /** Known for every chunk: a store announces a chunk only when it knows whether another one follows. */
  last: boolean
  bytes: Uint8Array
}
