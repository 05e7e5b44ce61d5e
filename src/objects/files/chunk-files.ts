/**
 * The files of a chunked object and how they are read: a folder of sealed files, `head` and one per chunk, named by its
 * index. Chunks are written in order and the last one is marked as the last. The files alone give the state; there is
 * no separate count that could disagree with them.
 */
import { access, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chunk, ChunkOptions, ChunksInfo } from '../../core/ports/objects.ts'
import { ifPresent, syncFolder } from './disk.ts'
import type { Layout } from './layout.ts'
import { decodeSeal, readSeal, type Seal } from './sealed.ts'

export interface ChunkFacts {
  offset: number
  checksum: string
  previous: string | null
  last: boolean
}

/** An object keeps the chunk size it was created with, even if the setting has changed when it is written again. */
export type Head = ChunkOptions

export function headFile(folder: string): string {
  return join(folder, 'head')
}

export function chunkFile(folder: string, index: number): string {
  return join(folder, String(index))
}

export async function readHead(folder: string): Promise<Head | undefined> {
  const file = await ifPresent(readFile(headFile(folder)))
  return file && decodeSeal<Head>(file, file.length).facts
}

export async function readChunk(layout: Layout, id: string, index: number): Promise<Chunk | undefined> {
  const place = layout.find(id)
  if (!place || !Number.isSafeInteger(index) || index < 0) return undefined
  const file = await ifPresent(readFile(chunkFile(place.chunks, index)))
  if (!file) return undefined
  // A writer links a chunk, syncs the folder, and only then creates the next one. So only the newest chunk may not be
  // durable yet.
  if (!(await exists(chunkFile(place.chunks, index + 1)))) await syncFolder(place.chunks)
  const { bytes: length, facts } = decodeSeal<ChunkFacts>(file, file.length)
  const { offset, checksum, previous, last } = facts
  return { index, offset, length, checksum, checksumPrevious: previous, last, bytes: file.subarray(0, length) }
}

/** Reads the facts of a chunk without its bytes. */
export async function readChunkSeal(folder: string, index: number): Promise<Seal<ChunkFacts> | undefined> {
  const file = await ifPresent(open(chunkFile(folder, index), 'r'))
  if (!file) return undefined
  try {
    return await readSeal<ChunkFacts>(file)
  } finally {
    await file.close()
  }
}

export async function chunksInfo(layout: Layout, id: string): Promise<ChunksInfo | undefined> {
  const place = layout.find(id)
  const head = place && (await readHead(place.chunks))
  if (!head) return undefined
  const { mimeType } = head
  const count = await countChunks(place.chunks)
  if (count === 0) return { count, bytes: 0, finished: false, mimeType }
  const last = await readChunkSeal(place.chunks, count - 1)
  return last && { count, bytes: last.facts.offset + last.bytes, finished: last.facts.last, mimeType }
}

/**
 * Finds the first missing index by doubling, then halving, because chunks have no gaps: 24 lookups for 4,096 chunks.
 */
export async function countChunks(folder: string): Promise<number> {
  let present = 0
  let missing = 0
  while (await exists(chunkFile(folder, missing))) {
    present = missing + 1
    missing = missing * 2 + 1
  }
  while (present < missing) {
    const middle = Math.floor((present + missing) / 2)
    if (await exists(chunkFile(folder, middle))) present = middle + 1
    else missing = middle
  }
  return present
}

async function exists(path: string): Promise<boolean> {
  return (await ifPresent(access(path).then(() => true))) ?? false
}
