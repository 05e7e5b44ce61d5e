/**
 * How a chunked object lies on disk and is read: a folder of sealed files, `head` and one per chunk, named by its
 * index. Chunks are announced in order and the last one says that it is the last, so what is there tells all; no count
 * is kept that could disagree with it.
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

/** An object keeps the chunk size it was begun with, whatever the setting says when it is run again. */
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
  // A writer links a chunk, syncs the folder, and only then makes the next: so the newest may not be durable yet.
  if (!(await exists(chunkFile(place.chunks, index + 1)))) await syncFolder(place.chunks)
  const { bytes: length, facts } = decodeSeal<ChunkFacts>(file, file.length)
  const { offset, checksum, previous, last } = facts
  return { index, offset, length, checksum, checksumPrevious: previous, last, bytes: file.subarray(0, length) }
}

/** What is known of a chunk without reading its bytes. */
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

/** Chunks have no gaps, so the first one missing is found in steps that double and then halve: 24 looks at 4,096. */
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
