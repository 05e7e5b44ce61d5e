/** What an object store must implement: it holds bytes. */

/**
 * Holds bytes: results, chunks, attachments. An object appears whole or not at all; a chunk is durable before it can
 * be read. Ids are `{owner id}/{name}`, and everything of one owner id goes at once.
 */
export interface ObjectStore {
  /** Streams to the end, or throws (`maxBytes` passed, source failed, disk full) and leaves nothing behind. */
  put(id: string, source: AsyncIterable<Uint8Array>, options: PutOptions): Promise<ObjectInfo>
  info(id: string): Promise<ObjectInfo | undefined>
  /** Bytes `start` up to but not including `end`. */
  read(id: string, range?: { start: number; end: number }): AsyncIterable<Uint8Array>
  /** Opens a chunked object for writing, from its start. Chunks that exist must come out the same again. */
  writeChunks(id: string, options: ChunkOptions): Promise<ChunkWriter>
  /** The chunk at `index`, if it has been announced. */
  chunk(id: string, index: number): Promise<Chunk | undefined>
  /** What is known of a chunked object so far. */
  chunks(id: string): Promise<ChunksInfo | undefined>
  removeOwner(owner: string): Promise<void>
  /** Owner ids whose bytes were last written before this time, for finding what a crash left behind. */
  owners(before: number): AsyncIterable<string>
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
  /** Text is cut between code points only. */
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
  /** `sha256:` and hex. */
  checksum: string
  checksumPrevious: string | null
  /** Known for every chunk: a store does not announce one before it knows whether another follows. */
  last: boolean
  bytes: Uint8Array
}
