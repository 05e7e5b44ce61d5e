/** Reads a result in chunks without HTTP, and checks the chain of their checksums. */
import { hash } from 'node:crypto'
import { expect } from 'vitest'
import type { ChunkEnvelope, ResponseEnvelope } from '../../src/protocols/opencall/wire.ts'

/** `ask` makes one call of `v1:getChunk` with these arguments, under its own request id. */
export async function readChunks(
  requestId: string,
  ask: (args: object, askId: string) => Promise<ResponseEnvelope>,
): Promise<{ text: string; count: number }> {
  let text = ''
  let previous: string | null = null
  let count = 0
  for (let cursor: string | null = ''; cursor !== null; count++) {
    const { result } = await ask({ requestId, ...(cursor && { cursor }) }, `chunk-${count}`)
    const envelope = result as unknown as ChunkEnvelope
    const { data = '', chunk } = envelope
    const checksum: string = `sha256:${hash('sha256', data)}`
    expect(chunk).toEqual({ offset: text.length, length: data.length, checksum, checksumPrevious: previous })
    text += data
    previous = checksum
    cursor = envelope.cursor
  }
  return { text, count }
}
