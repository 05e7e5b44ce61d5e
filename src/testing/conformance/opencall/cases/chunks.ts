/** "Chunked Result Retrieval" and the integrity of chunks. */
import { createHash } from 'node:crypto'
import { ideally, must, mustBeOneOf, mustBeText, mustEqual, should } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'
import { awaitEnd, type ChunkAnswer, chunkPath, fetchChunk, fetchChunks, lastOf, startCall } from '../following.ts'
import type { Subject } from '../subject.ts'

async function startExport(server: Subject, small = false) {
  const part = await server.part('chunked')
  if (small && part.example.small === undefined) {
    throw new Skip(`Pass arguments for a small result of ${part.op} as "small" in --args.`, '--args')
  }
  const started = await startCall(server, small ? { ...part, args: part.example.small as typeof part.args } : part)
  // A server may write all chunks before it offers the first.
  await awaitEnd(server, started.uri)
  return started.ids
}

async function everyChunk(server: Subject, withSession = false): Promise<ChunkAnswer[]> {
  const { example } = await server.part('chunked')
  const ids = await startExport(server)
  const chunks = await fetchChunks(server, ids.requestId, withSession ? ids : undefined)
  if (example.content !== undefined) {
    const whole = Buffer.concat(chunks.map(bytesOf))
    must(hex(whole) === example.content.sha256, 'The chunks do not add up to the content.')
  }
  return chunks
}

/** "For text-based content the `data` field contains the raw text. For binary content, base64-encoded bytes." */
function bytesOf({ data, mimeType }: ChunkAnswer): Buffer {
  const type = String(mimeType).split(';')[0]?.trim().toLowerCase() ?? ''
  const isText = /^text\/|[/+](?:json|xml|csv|yaml|x-ndjson|javascript)$/.test(type)
  return isText ? Buffer.from(data) : Buffer.from(data, 'base64')
}

const hex = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')

export const chunkCases = [
  defineCase(
    'chunks-in-order',
    'the chunks, fetched cursor by cursor, are the whole content, as text, with its type',
    [155, 156, 157, 158, 159, 167],
    async (server) => {
      const { example } = await server.part('chunked')
      const chunks = await everyChunk(server, true)
      const states = chunks.map(({ state }) => state)
      must(!states.slice(0, -1).includes('complete'), 'state is "complete" before the last chunk.')
      mustEqual(lastOf(states), 'complete', 'state of the last chunk')
      for (const { mimeType } of chunks) {
        if (example.content === undefined) mustBeText(mimeType, 'mimeType')
        else mustEqual(mimeType, example.content.mimeType, 'mimeType')
      }
      should((lastOf(chunks).cursor ?? null) === null, 'The last chunk has a cursor.')
    },
  ),

  defineCase(
    'chunk-offsets',
    'offsets are absolute, lengths are bytes, and together they leave no gap; total is their sum',
    [160, 161, 166],
    async (server) => {
      const chunks = await everyChunk(server)
      let offset = 0
      for (const chunk of chunks) {
        const bytes = bytesOf(chunk).length
        const inUnits = chunk.length === chunk.data.length && bytes !== chunk.length
        const hint = inUnits ? ' (it counts UTF-16 units, not bytes)' : ''
        mustEqual(chunk.length, bytes, `chunk.length of the chunk at ${chunk.offset}${hint}`)
        mustEqual(chunk.offset, offset, 'chunk.offset')
        offset += bytes
      }
      for (const { total } of chunks) if (total !== undefined) mustEqual(total, offset, 'total')
    },
  ),

  defineCase(
    'chunk-checksums',
    'each chunk carries the SHA-256 of its data and that of its predecessor, the first one null',
    [162, 164, 165, 170, 172, 173],
    async (server) => {
      let previous: unknown = null
      for (const chunk of await everyChunk(server)) {
        // "SHA-256 hash of this chunk's `data` payload": of the bytes, or of their base64.
        const right = [bytesOf(chunk), chunk.data].map((data) => `sha256:${hex(data)}`)
        mustBeOneOf(chunk.checksum, right, `chunk.checksum at ${chunk.offset}`)
        must(chunk.hasPrevious, `chunk.checksumPrevious is missing at ${chunk.offset}.`)
        mustEqual(chunk.checksumPrevious, previous, `chunk.checksumPrevious at ${chunk.offset}`)
        previous = chunk.checksum
      }
    },
  ),

  defineCase(
    'chunks-again',
    'a chunk can be fetched again, without a cursor or with an old one',
    [155, 159, 295],
    async (server) => {
      const ids = await startExport(server)
      const { requestId } = ids
      const [first, second] = await fetchChunks(server, requestId)
      const again = await fetchChunk(server, requestId, undefined)
      mustEqual(again.checksum, first?.checksum, 'The first chunk again')
      if (!second) throw new NotApplicable('The whole result came in one chunk; there is no cursor to use again.')
      const cursor = mustBeText(first?.cursor, 'cursor')
      mustEqual((await fetchChunk(server, requestId, cursor)).checksum, second.checksum, 'The second chunk again')
    },
  ),

  defineCase(
    'chunks-of-a-small-result',
    'a result smaller than a chunk is one chunk, and the last',
    [157, 165],
    async (server) => {
      const ids = await startExport(server, true)
      const chunks = await fetchChunks(server, ids.requestId)
      mustEqual(chunks.length, 1, 'The number of chunks')
      mustEqual(chunks[0]?.checksumPrevious, null, 'checksumPrevious of the only chunk')
    },
  ),

  defineCase(
    'chunked-declared',
    'the registry states which results are chunked, and the completed call has their location',
    [255, 81],
    async (server) => {
      const { op, entry } = await server.part('chunked')
      const { requestId } = await startExport(server)
      const { status, body } = await awaitEnd(server, `/ops/${requestId}`)
      mustEqual(body.state, 'complete', 'state at the end')
      const uri = (body.location as { uri?: string } | undefined)?.uri
      if (uri !== undefined) {
        const { bytes } = await expectStatus(200, server.send(uri))
        must(bytes.length > 0, 'There is nothing at location.uri.')
        mustEqual(status, 202, 'status of a result at a location')
      }
      const flags = Object.entries(entry).filter(([name, value]) => /chunk/i.test(name) && value === true)
      should(flags.length === 1, `The registry entry of ${op} has no flag for chunks.`)
      const path = uri === undefined ? 'nowhere' : new URL(uri, server.target.url).pathname
      ideally(/\/chunks$/.test(path), `location of the completed call leads to ${path}, not to its chunks.`)
    },
  ),

  defineCase(
    'foreign-cursor',
    'an unknown cursor is refused',
    [159],
    async (server) => {
      const ids = await startExport(server)
      await fetchChunks(server, ids.requestId)
      for (const cursor of ['not a cursor', '-1', '../../etc/passwd']) {
        const { status } = await server.send(chunkPath(ids.requestId, cursor))
        mustBeOneOf(status, [400, 404], `status for the cursor "${cursor}"`)
      }
    },
    'should',
  ),

  defineCase(
    'chunks-as-bytes',
    'in binary mode the body is the raw bytes of the same chunk, and the headers carry its checksum',
    [169],
    async (server) => {
      const ids = await startExport(server)
      const chunk = await fetchChunk(server, ids.requestId, undefined)
      const headers = { accept: 'application/octet-stream' }
      const answer = await expectStatus([200, 406], server.send(chunkPath(ids.requestId), { headers }))
      if (answer.status === 406 || /^application\/json/i.test(answer.headers.get('content-type') ?? '')) {
        throw new NotApplicable('The server has no binary response mode, which is optional.')
      }
      mustEqual(hex(answer.bytes), hex(bytesOf(chunk)), 'SHA-256 of the body')
      const carried = [...answer.headers.values()]
      must(carried.includes(String(chunk.checksum)), 'No header carries the checksum of the chunk.')
    },
    'must',
  ),
]
