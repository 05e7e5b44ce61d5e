/** Copies the objects of calls: attachments, results and chunks. Each copy is compared. */
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import type { ObjectStore } from '../../../core/ports/objects.ts'
import type { StoreDump } from '../../../core/ports/store-dump.ts'
import { chunksId } from '../../../engine/attempt/chunk-pieces.ts'
import type { FileObjects } from '../../../objects/files/index.ts'
import { pagesOf } from './copy.ts'

const PAGE = 100

/** Returns the number of objects. */
export async function copyObjects(
  dump: StoreDump,
  source: FileObjects,
  target: ObjectStore,
  progress: (what: string, count: number) => void,
): Promise<number> {
  let count = 0
  for await (const calls of pagesOf((after) => dump.calls(PAGE, after)))
    for (const call of calls) {
      for (const id of wholeObjects(call)) if (await copyWhole(id, source, target)) count++
      if (await copyChunks(chunksId(call.id), source, target)) count++
      progress('objects', count)
    }
  return count
}

function wholeObjects({ media, outcome }: Instance): string[] {
  const attachments = media.flatMap(({ source }) => (source.kind === 'object' ? [source.objectId] : []))
  const location = outcome?.kind === 'location' ? outcome.location : undefined
  return location?.kind === 'object' ? [...attachments, location.objectId] : attachments
}

async function copyWhole(id: string, source: FileObjects, target: ObjectStore): Promise<boolean> {
  const info = await source.info(id)
  if (!info) return false
  const { bytes, sha256, mimeType, filename } = info
  const options = { mimeType, maxBytes: bytes, ...(filename !== undefined && { filename }) }
  const there = (await target.info(id)) ?? (await target.put(id, source.read(id), options))
  if (there.sha256 !== sha256) throw differs(id)
  return true
}

/** Of an unfinished object, the last chunk is written again by the next attempt, which knows what follows. */
async function copyChunks(id: string, source: FileObjects, target: ObjectStore): Promise<boolean> {
  const [begun, info] = [await source.begun(id), await source.chunks(id)]
  if (!begun || !info) return false
  const writer = await target.writeChunks(id, begun)
  for (let index = 0; index < info.count; index++) {
    const chunk = await source.chunk(id, index)
    if (!chunk) throw differs(id)
    await writer.write(chunk.bytes)
  }
  if (!info.finished) return true
  const { count, bytes } = await writer.finish()
  const last = count - 1
  const [mine, theirs] = [await source.chunk(id, last), await target.chunk(id, last)]
  // The same bytes were cut in the same way. An existing chunk with others makes the writer fail.
  if (count !== info.count || bytes !== info.bytes || mine?.checksum !== theirs?.checksum) throw differs(id)
  return true
}

function differs(id: string): Fault {
  return new Fault('conflict', `The object ${id} differs in the bucket. Move into an empty prefix.`, {
    code: 'MOVE_DIFFERS',
  })
}
