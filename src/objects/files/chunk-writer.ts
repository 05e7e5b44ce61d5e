/**
 * Writes a chunked object from its start. It runs again after a crash, and possibly beside an earlier attempt that is
 * still alive. A chunk file is created once and never changed. A writer that finds an existing chunk verifies that it
 * would have written the same bytes.
 */
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { link, mkdir, rename } from 'node:fs/promises'
import { Fault } from '../../core/fault.ts'
import type { ChunkOptions, ChunksInfo, ChunkWriter } from '../../core/ports/objects.ts'
import { type ChunkFacts, chunkFile, countChunks, type Head, headFile, readChunkSeal, readHead } from './chunk-files.ts'
import { createCutter } from './cutter.ts'
import { discard, errorCode, FOLDER_MODE, freshPath, makeFolder, onDisk, storageFault, syncFolder } from './disk.ts'
import type { Layout, Place } from './layout.ts'
import { writeSealed } from './sealed.ts'

export async function openChunkWriter(layout: Layout, id: string, options: ChunkOptions): Promise<ChunkWriter> {
  if (!Number.isSafeInteger(options.chunkBytes) || options.chunkBytes < 1) {
    throw new Fault('internal', 'The chunk size must be a whole number of bytes, 1 or more; correct the setting.')
  }
  const place = layout.place(id)
  const head = await begin(layout, place, options)
  const cutter = createCutter(head)
  const alreadyThere = await countChunks(place.chunks)
  let index = 0
  let offset = 0
  let previous: string | null = null
  let finished: ChunksInfo | undefined

  async function announce(bytes: Uint8Array, last: boolean): Promise<void> {
    if (head.text && !isUtf8(bytes)) throw notText(head.mimeType)
    const facts: ChunkFacts = { offset, checksum: `sha256:${hash('sha256', bytes)}`, previous, last }
    const created = index >= alreadyThere && (await createChunk(layout, place, index, bytes, facts))
    if (!created) await verifyChunk(place, index, bytes.length, facts)
    index += 1
    offset += bytes.length
    previous = facts.checksum
  }

  const inTurn = createTurns()
  return {
    write: (bytes) =>
      inTurn(async () => {
        if (finished)
          throw new Fault('internal', 'The handler wrote to a finished result; write before calling finish.')
        for (const chunk of cutter.cut(bytes)) await announce(chunk, false)
      }),
    finish: () =>
      inTurn(async () => {
        if (finished) return finished
        await announce(cutter.rest(), true)
        finished = { count: index, bytes: offset, finished: true, mimeType: head.mimeType }
        return finished
      }),
  }
}

/**
 * Runs one step at a time, even if the caller does not await. Runs no step after a failure, because a later chunk would
 * hide the gap.
 */
function createTurns(): <T>(step: () => Promise<T>) => Promise<T> {
  let failure: unknown
  let last: Promise<unknown> = Promise.resolve()
  return (step) => {
    const turn = last.then(() => {
      if (failure !== undefined) throw failure
      return step()
    })
    last = turn.catch((error: unknown) => {
      failure = error
    })
    return turn
  }
}

/** Creates the folder together with its head, or reads the head that another writer created first. */
async function begin(layout: Layout, place: Place, options: ChunkOptions): Promise<Head> {
  const head = (await readHead(place.chunks)) ?? (await createHead(layout, place, options))
  if (head.mimeType !== options.mimeType || head.text !== options.text) {
    throw diverged(`It was started as ${head.mimeType} and is now ${options.mimeType}.`)
  }
  return head
}

async function createHead(layout: Layout, place: Place, options: ChunkOptions): Promise<Head> {
  const { mimeType, chunkBytes, text } = options
  const head: Head = { mimeType, chunkBytes, text }
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

async function verifyChunk(place: Place, index: number, length: number, facts: ChunkFacts): Promise<void> {
  const there = await readChunkSeal(place.chunks, index)
  if (!there) throw removed()
  const { offset, checksum, last } = there.facts
  const same = offset === facts.offset && there.bytes === length && checksum === facts.checksum && last === facts.last
  if (!same) throw diverged(`Chunk ${index} differs.`)
}

function diverged(what: string): Fault {
  return new Fault(
    'internal',
    'The operation ran again and its result differs from the part already sent; start a new call.',
    {
      code: 'CHUNKS_DIVERGED',
      developerMessage: `${what} A chunked operation must make the same bytes at every attempt.`,
    },
  )
}

function removed(cause?: unknown): Fault {
  return new Fault('not-found', 'The result was removed while it was being written; call the operation again.', {
    ...(cause !== undefined && { cause }),
  })
}

function notText(mimeType: string): Fault {
  return new Fault(
    'internal',
    `The result was declared as ${mimeType} but is not UTF-8; the operation must be fixed.`,
    {
      code: 'RESULT_NOT_TEXT',
    },
  )
}
