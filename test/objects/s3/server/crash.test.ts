/** Writers that are killed, and an S3 server that is killed while it is written to. */
import { expect, test } from 'vitest'
import type { ChunkWriter } from '../../../../src/core/ports/objects.ts'
import { chainProblems, joined, readChain } from '../../../../src/testing/fakes/chunk-chain.ts'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { REGION } from '../../../engines/seaweedfs.ts'
import { factsOf, runAndKill } from '../../killed-writer.ts'
import { CHUNKS, PART_BYTES, PIECE_BYTES, piece } from '../../writer-process.ts'
import { useSeaweedFs } from './bucket.ts'

const PIECES = 120
/** Processes start slowly on a busy machine. */
const TWO_MINUTES = { timeout: 120_000 }

describeWith(s3Server, 'objects in S3 after a kill', () => {
  const s3 = useSeaweedFs()
  const content = Buffer.concat(Array.from({ length: PIECES }, (_, index) => piece(index)))

  async function openBucket() {
    const { endpoint, credentials } = s3.server
    const bucket = await s3.server.createBucket()
    const url = `s3://${bucket}/objects?region=${REGION}&endpoint=${endpoint}`
    const env = { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey }
    return { url, env, objects: await s3.open(bucket) }
  }

  test('a chunk writer that is killed leaves only whole chunks, and the next run continues', TWO_MINUTES, async () => {
    const { url, env, objects } = await openBucket()
    let seen: object[] = []

    for (const killAfter of [1, 30, 80]) {
      await runAndKill('chunks', url, PIECES, killAfter, env)

      const chain = await readChain(objects, 'call/chunks')
      expect(factsOf(chain).slice(0, seen.length)).toEqual(seen)
      expect(chainProblems(chain)).toEqual([])
      expect(joined(chain).equals(content.subarray(0, joined(chain).length))).toBe(true)
      if (killAfter > 1) expect(chain.length).toBeGreaterThanOrEqual(killAfter - 2)
      seen = factsOf(chain)
    }
    const writer = await objects.writeChunks('call/chunks', CHUNKS)
    for (let index = 0; index < PIECES; index++) await writer.write(piece(index))

    expect(await writer.finish()).toMatchObject({ bytes: PIECES * PIECE_BYTES, finished: true })
    const chain = await readChain(objects, 'call/chunks')
    expect(factsOf(chain).slice(0, seen.length)).toEqual(seen)
    expect(joined(chain).equals(content)).toBe(true)
    expect(chainProblems(chain)).toEqual([])
  })

  test.for([
    ['collected', PIECES, 50],
    ['sent in parts', 3_000, Math.ceil((2.5 * PART_BYTES) / PIECE_BYTES)],
  ] as const)('an upload that was being %s when its process was killed does not appear', TWO_MINUTES, async (story) => {
    const [, pieces, killAfter] = story
    const { url, env, objects } = await openBucket()
    const before = await objects.put('call/other', one(piece(1)), { mimeType: 'image/png', maxBytes: 100_000 })

    await runAndKill('put', url, pieces, killAfter, env)

    expect(await objects.info('call/file')).toBe(undefined)
    expect(await objects.info('call/other')).toEqual(before)
    await objects.removeOwner('call')
    expect(await Array.fromAsync(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([])
  })

  test('what S3 has acknowledged is there after S3 was killed, and the writer goes on', TWO_MINUTES, async () => {
    const { objects } = await openBucket()
    const put = await objects.put('call/file', one(content), { mimeType: 'image/png', maxBytes: content.length })
    const first = await objects.writeChunks('call/chunks', CHUNKS)
    for (let index = 0; index < 30; index++) await first.write(piece(index))
    const acknowledged = factsOf(await readChain(objects, 'call/chunks'))

    await s3.server.kill()
    await expect(writeAll(first, 30)).rejects.toMatchObject({ kind: 'unavailable', code: 'STORAGE_FAILED' })
    await s3.server.restart()
    await writeAll(await objects.writeChunks('call/chunks', CHUNKS), 0)

    const chain = await readChain(objects, 'call/chunks')
    expect(factsOf(chain).slice(0, acknowledged.length)).toEqual(acknowledged)
    expect(joined(chain).equals(content)).toBe(true)
    expect(await objects.info('call/file')).toEqual(put)
    expect(Buffer.concat(await Array.fromAsync(objects.read('call/file'))).equals(content)).toBe(true)
  })

  async function writeAll(writer: ChunkWriter, from: number) {
    for (let index = from; index < PIECES; index++) await writer.write(piece(index))
    await writer.finish()
  }
})

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
