/** Reads records from a stream one by one. It takes from the stream only what a record needs. */
import type { Readable } from 'node:stream'
import { type DecodedRecord, RecordDecoder } from '../../../src/wire/frames/records.ts'

export type ReadRecord = Extract<DecodedRecord, { content: Uint8Array }>

export function recordsOf(stream: Readable): { next(): Promise<ReadRecord | undefined> } {
  const decoder = new RecordDecoder(2 ** 30)
  const chunks = stream.iterator({ destroyOnReturn: false })
  const ready: ReadRecord[] = []
  return {
    async next() {
      for (;;) {
        const record = ready.shift()
        if (record) return record
        const chunk = await chunks.next().catch(() => ({ done: true as const, value: undefined }))
        if (chunk.done) return undefined
        for (const each of decoder.push(chunk.value)) {
          if (!('content' in each)) throw new Error(`The server sent no record, but: ${each.kind}`)
          ready.push(each)
        }
      }
    },
  }
}
