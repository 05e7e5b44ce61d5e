/**
 * The files of a chunked object: a folder of sealed files, `head` and one per chunk, named by its index. The files alone
 * give the state.
 */
import { access, link, mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chunk, ChunksInfo } from '../../core/ports/objects.ts'
import {
  type ChunkFacts,
  type ChunkPlace,
  countChunks,
  type Head,
  removed,
} from '../../platform/objects/chunk-place.ts'
import {
  discard,
  errorCode,
  FOLDER_MODE,
  freshPath,
  ifPresent,
  makeFolder,
  onDisk,
  storageFault,
  syncFolder,
} from './disk.ts'
import type { Layout, Place } from './layout.ts'
import { decodeSeal, readSeal, type Seal, writeSealed } from './sealed.ts'

export function chunkPlace(layout: Layout, id: string): ChunkPlace {
  const place = layout.place(id)
  return {
    begin: async (head) => (await readHead(place.chunks)) ?? createHead(layout, place, head),
    count: () => countIn(place.chunks),
    create: (index, bytes, facts) => createChunk(layout, place, index, bytes, facts),
    facts: (index) => readChunkSeal(place.chunks, index),
  }
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

export async function chunksInfo(layout: Layout, id: string): Promise<ChunksInfo | undefined> {
  const place = layout.find(id)
  const head = place && (await readHead(place.chunks))
  if (!head) return undefined
  const { mimeType } = head
  const count = await countIn(place.chunks)
  if (count === 0) return { count, bytes: 0, finished: false, mimeType }
  const last = await readChunkSeal(place.chunks, count - 1)
  return last && { count, bytes: last.facts.offset + last.bytes, finished: last.facts.last, mimeType }
}

export async function begunAs(layout: Layout, id: string): Promise<Head | undefined> {
  const place = layout.find(id)
  return place && readHead(place.chunks)
}

/** Creates the folder together with its head, or reads the head that another writer created first. */
async function createHead(layout: Layout, place: Place, head: Head): Promise<Head> {
  const { path } = await writeSealed(layout, async () => head)
  const folder = freshPath(layout.unfinished)
  try {
    await onDisk(mkdir(folder, FOLDER_MODE))
    await onDisk(rename(path, headFile(folder)))
    await syncFolder(folder)
    await makeFolder(place.ownerFolder)
    await rename(folder, place.chunks)
    await syncFolder(place.ownerFolder)
    return head
  } catch (error) {
    await discard(path)
    await discard(folder)
    const taken = ['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '') && (await readHead(place.chunks))
    if (taken) return taken
    throw storageFault(error)
  }
}

/**
 * Returns false if the chunk already exists. The file is synced under a temporary name and then linked, because `link`
 * never replaces a file.
 */
async function createChunk(
  layout: Layout,
  place: Place,
  index: number,
  bytes: Uint8Array,
  facts: ChunkFacts,
): Promise<boolean> {
  const { path } = await writeSealed(layout, async (append) => {
    await append(bytes)
    return facts
  })
  try {
    await link(path, chunkFile(place.chunks, index))
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    if (errorCode(error) === 'ENOENT') throw removed(error)
    throw storageFault(error)
  } finally {
    await discard(path)
  }
  await syncFolder(place.chunks)
  return true
}

async function readHead(folder: string): Promise<Head | undefined> {
  const file = await ifPresent(readFile(headFile(folder)))
  return file && decodeSeal<Head>(file, file.length).facts
}

/** Reads the facts of a chunk without its bytes. */
async function readChunkSeal(folder: string, index: number): Promise<Seal<ChunkFacts> | undefined> {
  const file = await ifPresent(open(chunkFile(folder, index), 'r'))
  if (!file) return undefined
  try {
    return await readSeal<ChunkFacts>(file)
  } finally {
    await file.close()
  }
}

function headFile(folder: string): string {
  return join(folder, 'head')
}

function chunkFile(folder: string, index: number): string {
  return join(folder, String(index))
}

function countIn(folder: string): Promise<number> {
  return countChunks((index) => exists(chunkFile(folder, index)))
}

async function exists(path: string): Promise<boolean> {
  return (await ifPresent(access(path).then(() => true))) ?? false
}
