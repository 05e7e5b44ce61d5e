/** Stores objects in files below one folder, for one machine. It creates nothing before the first use. */
import type { ChunkOptions, ObjectStore } from '../../core/ports/objects.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { openChunkWriter } from '../../platform/objects/chunk-writer.ts'
import { begunAs, chunkPlace, chunksInfo, readChunk } from './chunk-files.ts'
import { createFreshness } from './freshness.ts'
import { createLayout } from './layout.ts'
import { listOwners, removeOwner, sweepUnfinished } from './owners.ts'
import { objectInfo, putObject, readObject } from './whole.ts'

export interface FileObjects extends ObjectStore {
  /**
   * Removes unfinished files that were not touched for this long, and returns how many. Writers touch their files all
   * the time. Fails if the folder is not writable.
   */
  sweep(untouchedForMs: number): Promise<number>
  /** How a chunked object was begun. A copy that is begun in the same way has the same chunks. */
  begun(id: string): Promise<ChunkOptions | undefined>
}

export function createFileObjects(options: { folder: string; clock: Pick<Clock, 'now' | 'schedule'> }): FileObjects {
  const { folder, clock } = options
  const layout = createLayout(folder, createFreshness(clock))
  return {
    put: (id, source, put) => putObject(layout, id, source, { ...put, createdAt: clock.now() }),
    info: (id) => objectInfo(layout, id),
    read: (id, range) => readObject(layout, id, range),
    writeChunks: async (id, chunks) => openChunkWriter(chunkPlace(layout, id), chunks),
    chunk: (id, index) => readChunk(layout, id, index),
    chunks: (id) => chunksInfo(layout, id),
    removeOwner: (owner) => removeOwner(layout, owner),
    owners: (untouchedForMs) => listOwners(layout, clock.now() - untouchedForMs),
    begun: (id) => begunAs(layout, id),
    sweep: (untouchedForMs) => sweepUnfinished(layout, clock.now() - untouchedForMs),
  }
}
