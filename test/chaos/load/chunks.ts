/** Reads a chunked result from its first chunk to the last one that is there, through any nodes. */
import { hash } from 'node:crypto'
import type { ChunkEnvelope } from '../../../src/protocols/opencall/wire.ts'
import type { SeenChunk } from '../../crash/history.ts'
import type { ChaosCall } from '../history.ts'
import { type Heard, isPassing, type Site } from './site.ts'

type ChunkReply = ChunkEnvelope & { error?: { code: string } }

const TRIES = 20

export async function readChunks(site: Site, call: ChaosCall): Promise<void> {
  const reading: SeenChunk[] = []
  const wasComplete = isComplete(call)
  let [cursor, failed]: [string | null, number] = ['', 0]
  while (cursor !== null && failed < TRIES && !site.isOver) {
    const path: string = `/ops/${call.requestId}/chunks${cursor && `?cursor=${cursor}`}`
    const heard: Heard<ChunkReply> | undefined = await site.ask<ChunkReply>(call.caller, path)
    if (!heard || isPassing(heard)) {
      failed += 1
      await site.rest(200)
      continue
    }
    const { chunk, data = '', cursor: next, error } = heard.body
    if (error && isAfterFailure(call)) return
    if (error) return site.history.find(`${call.label}: a chunk cannot be read: ${heard.status} ${error.code}`)
    if (!chunk && wasComplete)
      return site.history.find(
        `${call.label} (${call.requestId}) is complete, and chunk ${reading.length} is not there`,
      )
    if (!chunk) break
    reading.push({ ...chunk, computed: `sha256:${hash('sha256', data)}` })
    cursor = next
  }
  // Cut off in the middle, it says nothing about the rest.
  if (cursor === null || !wasComplete) call.readings.push(reading)
}

function isComplete({ sightings }: ChaosCall): boolean {
  return sightings.some(({ state }) => state === 'complete')
}

/** A call that failed has no chunks to read. */
function isAfterFailure({ sightings }: ChaosCall): boolean {
  return sightings.some(({ state }) => state === 'error')
}
