/**
 * A process for tests to kill or to run out of space: `writer-process.ts <put|chunks> <folder or bucket> <pieces>`. It
 * prints a line before each piece, and at the end `done` or the code of the fault. It exits when its standard input ends.
 */
import { once } from 'node:events'
import { Fault } from '../../src/core/fault.ts'
import type { ObjectStore } from '../../src/core/ports/objects.ts'
import { createFileObjects } from '../../src/objects/files/index.ts'
import { openS3Objects } from '../../src/objects/s3/index.ts'
import { systemClock } from '../../src/server/build/environment.ts'

export const PIECE_BYTES = 5000
/** The smallest that S3 accepts. */
export const PART_BYTES = 5 * 1024 * 1024
export const CHUNKS = { mimeType: 'image/png', chunkBytes: 4096, text: false }

/** The same in every run, and no two pieces are equal. */
export function piece(index: number): Uint8Array {
  return Uint8Array.from({ length: PIECE_BYTES }, (_, at) => (at * 31 + index * 7 + (at >> 8)) & 0xff)
}

async function* source(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) {
    process.stdout.write('piece\n')
    yield piece(index)
  }
  await once(process.stdin.resume(), 'end')
}

/** The credentials of a bucket are in the environment. */
async function open(place: string): Promise<ObjectStore> {
  if (!place.startsWith('s3://')) return createFileObjects({ folder: place, clock: systemClock })
  const log = { warn: () => {} }
  const conceal = () => () => {}
  return openS3Objects({ url: place, clock: systemClock, env: process.env, log, conceal, partBytes: PART_BYTES })
}

async function main(mode: string | undefined, place: string, count: number): Promise<void> {
  const objects = await open(place)
  if (mode === 'put') {
    await objects.put('call/file', source(count), { mimeType: 'image/png', maxBytes: Number.MAX_SAFE_INTEGER })
  } else {
    const writer = await objects.writeChunks('call/chunks', CHUNKS)
    for await (const bytes of source(count)) await writer.write(bytes)
    await writer.finish()
  }
}

if (import.meta.main) {
  const [mode, place = '', count] = process.argv.slice(2)
  await main(mode, place, Number(count)).then(
    () => process.stdout.write('done\n'),
    (error: unknown) => process.stdout.write(`${error instanceof Fault ? `${error.kind} ${error.code}` : error}\n`),
  )
}
