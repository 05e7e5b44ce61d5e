/** "Chunked Result Retrieval" and the integrity of what is retrieved. */
import { createHash, randomUUID } from 'node:crypto'
import { must, mustBeOneOf, mustBeText, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { expectStatus, textOf } from '../../http.ts'
import { defineCase } from '../define.ts'
import { type ChunkAnswer, chunkPath, fetchChunk, fetchChunks, lastOf, pollToEnd } from '../following.ts'
import type { Subject } from '../subject.ts'

/** About 850 KB: several chunks of any size that makes sense. */
const MANY_ROWS = 45_000

async function startExport(server: Subject, rows: number) {
  const { op } = await server.part('chunked')
  const sent = { requestId: randomUUID(), sessionId: randomUUID() }
  await expectStatus(202, server.call({ op, args: { rows }, ctx: sent }))
  return sent
}

async function several(server: Subject): Promise<ChunkAnswer[]> {
  const sent = await startExport(server, MANY_ROWS)
  const chunks = await fetchChunks(server, sent.requestId, sent)
  must(chunks.map(({ data }) => data).join('') === csv(MANY_ROWS), 'The chunks do not add up to the content.')
  if (chunks.length < 3) throw new Skip(`All of 850 KB came in ${chunks.length} chunks; there is no chain to judge.`)
  return chunks
}

function csv(rows: number): string {
  const lines = Array.from({ length: rows }, (_, at) => `${at + 1},item-${(at + 1) % 97},${((at + 1) % 1000) / 10}\n`)
  return `order,item,price\n${lines.join('')}`
}

const sha256 = (data: string | Uint8Array) => `sha256:${createHash('sha256').update(data).digest('hex')}`

export const chunkCases = [
  defineCase(
    'chunks-in-order',
    'from the first chunk on, cursor by cursor, the content comes whole, as text, with its type',
    [155, 156, 157, 158, 159, 167],
    async (server) => {
      const chunks = await several(server)
      const states = chunks.map(({ state }) => state)
      mustEqual(new Set(states.slice(0, -1)), new Set(['pending']), 'state before the last chunk')
      mustEqual(lastOf(states), 'complete', 'state of the last chunk')
      mustEqual(lastOf(chunks).cursor ?? null, null, 'cursor of the last chunk')
      for (const { mimeType } of chunks) mustEqual(mimeType, 'text/csv', 'mimeType')
    },
  ),

  defineCase(
    'chunk-offsets',
    'offsets are absolute, lengths are bytes, and together they leave no gap; total is their sum',
    [160, 161, 166],
    async (server) => {
      const chunks = await several(server)
      let offset = 0
      for (const chunk of chunks) {
        mustEqual(chunk.offset, offset, 'chunk.offset')
        mustEqual(chunk.length, Buffer.byteLength(chunk.data), 'chunk.length')
        offset += chunk.length
      }
      for (const { total } of chunks) if (total !== undefined) mustEqual(total, offset, 'total')
    },
  ),

  defineCase(
    'chunk-checksums',
    'each chunk carries the SHA-256 of its data and that of its predecessor, the first one null',
    [162, 164, 165, 170, 172, 173],
    async (server) => {
      let previous: string | null = null
      for (const chunk of await several(server)) {
        mustEqual(chunk.checksum, sha256(chunk.data), `chunk.checksum at ${chunk.offset}`)
        must(chunk.hasPrevious, `chunk.checksumPrevious is missing at ${chunk.offset}.`)
        mustEqual(chunk.checksumPrevious, previous, `chunk.checksumPrevious at ${chunk.offset}`)
        previous = sha256(chunk.data)
      }
    },
  ),

  defineCase(
    'chunks-again',
    'a chunk can be fetched again, by no cursor or by an old one',
    [155, 159, 295],
    async (server) => {
      const { requestId, ...sent } = await startExport(server, MANY_ROWS)
      const chunks = await fetchChunks(server, requestId, sent)
      const [first, second] = chunks
      mustEqual(
        (await fetchChunk(server, requestId, undefined, sent)).checksum,
        first?.checksum,
        'The first chunk again',
      )
      if (!second) throw new Skip('All of 850 KB came in one chunk; there is no cursor to use again.')
      const cursor = mustBeText(first?.cursor, 'cursor')
      mustEqual((await fetchChunk(server, requestId, cursor, sent)).checksum, second.checksum, 'The second chunk again')
    },
  ),

  defineCase(
    'chunks-of-a-small-result',
    'a result smaller than a chunk is one chunk, and the last',
    [157, 165],
    async (server) => {
      const { requestId, ...sent } = await startExport(server, 3)
      const chunks = await fetchChunks(server, requestId, sent)
      mustEqual(
        chunks.map(({ data }) => data),
        [csv(3)],
        'The data of all chunks',
      )
      mustEqual(chunks[0]?.checksumPrevious, null, 'checksumPrevious of the only chunk')
    },
  ),

  defineCase(
    'chunked-declared',
    'the registry says which results are chunked, and completion says where they are',
    [255, 81],
    async (server) => {
      const entry = await server.part('chunked')
      const flags = Object.entries(entry).filter(([name, value]) => /chunk/i.test(name) && value === true)
      must(flags.length === 1, `The registry entry of ${entry.op} has no flag for chunks.`)
      const sent = await startExport(server, 3)
      const { status, envelope } = lastOf(await pollToEnd(server, `/ops/${sent.requestId}`, sent))
      mustEqual([status, envelope.state], [202, 'complete'], 'status and state at the end')
      const uri = envelope.location?.uri ?? ''
      must(/\/chunks$/.test(new URL(uri, server.target.url).pathname), `${uri} is not the address of the chunks.`)
      const { bytes } = await expectStatus(200, server.send(uri))
      must(bytes.length > 0, 'There is nothing at location.uri.')
    },
  ),

  defineCase(
    'foreign-cursor',
    'a cursor the server never gave out is refused, not guessed at',
    [159],
    async (server) => {
      const { requestId, ...sent } = await startExport(server, 3)
      await fetchChunks(server, requestId, sent)
      for (const cursor of ['not a cursor', '-1', '../../etc/passwd']) {
        const { status } = await server.ask(chunkPath(requestId, cursor))
        mustBeOneOf(status, [400, 404], `status for the cursor "${cursor}"`)
      }
    },
  ),

  defineCase(
    'chunks-as-bytes',
    'in binary mode the body is the raw bytes of the same chunk, and the headers carry its checksum',
    [169],
    async (server) => {
      const { requestId, ...sent } = await startExport(server, 100)
      const chunk = await fetchChunk(server, requestId, undefined, sent)
      const headers = { accept: 'application/octet-stream' }
      const answer = await expectStatus(200, server.send(chunkPath(requestId), { headers }))
      if (/^application\/json/i.test(answer.headers.get('content-type') ?? '')) {
        throw new Skip('The server has no binary response mode, which it may.')
      }
      mustEqual(textOf(answer), chunk.data, 'The body')
      const carried = [...answer.headers.values()]
      must(carried.includes(String(chunk.checksum)), 'No header carries the checksum of the chunk.')
    },
  ),
]
