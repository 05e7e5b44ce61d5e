/**
 * Writes a chunked object from its start, for every object store. It runs again after a crash, and possibly beside an
 * earlier attempt that is still alive. A chunk is created once and never changed. A writer that finds an existing chunk
 * verifies that it would have written the same bytes.
 */
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { ChunkOptions, ChunksInfo, ChunkWriter } from '../../core/ports/objects.ts'
import { type ChunkFacts, type ChunkPlace, type Head, removed } from './chunk-place.ts'
import { createCutter } from './cutter.ts'

export async function openChunkWriter(place: ChunkPlace, options: ChunkOptions): Promise<ChunkWriter> {
  if (!Number.isSafeInteger(options.chunkBytes) || options.chunkBytes < 1) {
    throw new Fault('internal', 'The chunk size must be a whole number of bytes, 1 or more; correct the setting.')
  }
  const head = await begin(place, options)
  const cutter = createCutter(head)
  const alreadyThere = await place.count()
  let index = 0
  let offset = 0
  let previous: string | null = null
  let finished: ChunksInfo | undefined

  async function announce(bytes: Uint8Array, last: boolean): Promise<void> {
    if (head.text && !isUtf8(bytes)) throw notText(head.mimeType)
    const facts: ChunkFacts = { offset, checksum: `sha256:${hash('sha256', bytes)}`, previous, last }
    const created = index >= alreadyThere && (await place.create(index, bytes, facts))
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

async function begin(place: ChunkPlace, { mimeType, chunkBytes, text }: ChunkOptions): Promise<Head> {
  const head = await place.begin({ mimeType, chunkBytes, text })
  if (head.mimeType !== mimeType || head.text !== text) {
    throw diverged(`It was started as ${head.mimeType} and is now ${mimeType}.`)
  }
  return head
}

async function verifyChunk(place: ChunkPlace, index: number, length: number, facts: ChunkFacts): Promise<void> {
  const there = await place.facts(index)
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

function notText(mimeType: string): Fault {
  return new Fault(
    'internal',
    `The result was declared as ${mimeType} but is not UTF-8; the operation must be fixed.`,
    {
      code: 'RESULT_NOT_TEXT',
    },
  )
}
