/**
 * A file that holds bytes and the facts about them: the bytes, then JSON, its length, and a mark. The facts come last
 * because the checksum is known only after the last byte. In one file they appear together with the bytes by a single
 * rename or link, and a truncated file has no mark.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { damaged } from '../../platform/objects/ids.ts'
import { discard, FILE_MODE, freshPath, ifPresent, makeFolder, onDisk, writeAll } from './disk.ts'
import type { Layout } from './layout.ts'

const MARK = 0x43504f31
const TAIL_BYTES = 8
/** Large enough for nearly every seal, so that one read suffices. */
const FIRST_READ_BYTES = 1024

export interface Seal<Facts> {
  /** The number of bytes before the seal. */
  bytes: number
  facts: Facts
}

/** Writes a sealed, synced file under a temporary name. `fill` appends the bytes and returns the facts. */
export async function writeSealed<Facts>(
  { unfinished, keepFresh }: Pick<Layout, 'unfinished' | 'keepFresh'>,
  fill: (append: (bytes: Uint8Array) => Promise<void>) => Promise<Facts>,
): Promise<{ path: string; facts: Facts }> {
  const path = freshPath(unfinished)
  const handle = await create(path, unfinished)
  const endKeeping = keepFresh(path)
  try {
    try {
      const facts = await fill((bytes) => writeAll(handle, bytes))
      await writeAll(handle, encodeSeal(facts))
      await onDisk(handle.sync())
      return { path, facts }
    } finally {
      await onDisk(handle.close())
    }
  } catch (error) {
    await discard(path)
    throw error
  } finally {
    endKeeping()
  }
}

async function create(path: string, unfinished: string): Promise<FileHandle> {
  const handle = await ifPresent(open(path, 'wx', FILE_MODE))
  if (handle) return handle
  await makeFolder(unfinished)
  return onDisk(open(path, 'wx', FILE_MODE))
}

function encodeSeal(facts: unknown): Uint8Array {
  const json = Buffer.from(JSON.stringify(facts))
  const tail = Buffer.alloc(TAIL_BYTES)
  tail.writeUInt32BE(json.length, 0)
  tail.writeUInt32BE(MARK, 4)
  return Buffer.concat([json, tail])
}

/** Reads only the facts, so the size of the file does not matter. */
export async function readSeal<Facts>(handle: FileHandle): Promise<Seal<Facts>> {
  const { size } = await onDisk(handle.stat())
  const end = await readEnd(handle, size, FIRST_READ_BYTES)
  const sealBytes = sealLength(end, size)
  return decodeSeal(sealBytes <= end.length ? end : await readEnd(handle, size, sealBytes), size)
}

async function readEnd(handle: FileHandle, size: number, atMost: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(size, atMost))
  for (let filled = 0; filled < buffer.length; ) {
    const position = size - buffer.length + filled
    const { bytesRead } = await onDisk(handle.read(buffer, filled, buffer.length - filled, position))
    if (bytesRead === 0) throw damaged()
    filled += bytesRead
  }
  return buffer
}

function sealLength(end: Buffer, size: number): number {
  if (end.length < TAIL_BYTES || end.readUInt32BE(end.length - 4) !== MARK) throw damaged()
  const length = end.readUInt32BE(end.length - TAIL_BYTES) + TAIL_BYTES
  if (length > size) throw damaged()
  return length
}

/** `end` is the end of a file of this size, or the whole file. */
export function decodeSeal<Facts>(end: Buffer, size: number): Seal<Facts> {
  const length = sealLength(end, size)
  try {
    const facts = JSON.parse(end.toString('utf8', end.length - length, end.length - TAIL_BYTES)) as Facts
    return { bytes: size - length, facts }
  } catch (error) {
    throw damaged(error)
  }
}
