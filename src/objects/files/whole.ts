/** Objects that are stored in one piece: attachments and unchunked results. */
import { createHash } from 'node:crypto'
import { type FileHandle, open, rename } from 'node:fs/promises'
import type { ObjectInfo, PutOptions } from '../../core/ports/objects.ts'
import { damaged, noSuchObject, tooLarge } from '../../platform/objects/ids.ts'
import { discard, ifPresent, makeFolder, onDisk, syncFolder } from './disk.ts'
import type { Layout, Place } from './layout.ts'
import { readSeal, writeSealed } from './sealed.ts'

type Facts = Omit<ObjectInfo, 'id' | 'bytes'>

/** The size of one read, and the memory that a slow client occupies. */
const READ_BYTES = 64 * 1024

export async function putObject(
  layout: Layout,
  id: string,
  source: AsyncIterable<Uint8Array>,
  options: PutOptions & { createdAt: number },
): Promise<ObjectInfo> {
  const place = layout.place(id)
  const digest = createHash('sha256')
  let bytes = 0
  // Earlier attachments of the same call are already in the owner's folder and must not look like leftovers.
  const endKeeping = layout.keepFresh(place.ownerFolder)
  const { path, facts } = await writeSealed<Facts>(layout, async (append) => {
    for await (const piece of source) {
      bytes += piece.length
      if (bytes > options.maxBytes) throw tooLarge(options.maxBytes)
      digest.update(piece)
      await append(piece)
    }
    const { mimeType, filename, createdAt } = options
    return { sha256: digest.digest('hex'), mimeType, ...(filename !== undefined && { filename }), createdAt }
  }).finally(endKeeping)
  await publish(path, place)
  return { id, bytes, ...facts }
}

/** A second object with the same id replaces the first. A reader of the first one can still read it to its end. */
async function publish(path: string, place: Place): Promise<void> {
  let written = path
  try {
    await makeFolder(place.ownerFolder)
    await onDisk(rename(path, place.object))
    written = place.object
    await syncFolder(place.ownerFolder)
  } catch (error) {
    await discard(written)
    throw error
  }
}

export async function objectInfo(layout: Layout, id: string): Promise<ObjectInfo | undefined> {
  const file = await openObject(layout, id)
  if (!file) return undefined
  try {
    return await infoOf(file, id)
  } finally {
    await file.close()
  }
}

/** Reads as fast as the consumer does. If the consumer stops early, the file is closed. */
export async function* readObject(
  layout: Layout,
  id: string,
  range?: { start: number; end: number },
): AsyncGenerator<Uint8Array, void, void> {
  const file = await openObject(layout, id)
  if (!file) throw noSuchObject()
  try {
    const { bytes } = await infoOf(file, id)
    const end = Math.min(range?.end ?? bytes, bytes)
    let at = Math.max(range?.start ?? 0, 0)
    while (at < end) {
      const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, end - at))
      const { bytesRead } = await onDisk(file.read(buffer, 0, buffer.length, at))
      if (bytesRead === 0) throw damaged()
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

async function openObject(layout: Layout, id: string): Promise<FileHandle | undefined> {
  const place = layout.find(id)
  return place && ifPresent(open(place.object, 'r'))
}

async function infoOf(file: FileHandle, id: string): Promise<ObjectInfo> {
  const { bytes, facts } = await readSeal<Facts>(file)
  return { id, bytes, ...facts }
}
