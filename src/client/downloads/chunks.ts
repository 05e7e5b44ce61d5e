/**
 * The chunks of a result, in order. Each is verified before it is passed on: its place, its length, its checksum and the
 * chain. A lost connection costs one chunk. OpenCALL, "Checksum Chain Semantics".
 */
import { fromBase64 } from '../base64.ts'
import type { Calling } from '../calling.ts'
import { CallFault } from '../fault.ts'
import { retryAfter } from '../http/http-transport.ts'
import { lost } from '../http/requests.ts'
import type { Fetcher } from '../transport.ts'
import { sha256 } from './checksum.ts'
import { persist } from './persist.ts'

/** The facts of a chunk, from the headers of a binary response. OpenCALL, "Chunk Data Encoding". */
interface ChunkHead {
  readonly offset: number
  readonly length: number
  readonly checksum: string
  readonly previous: string | null
  /** `null` after the last chunk. */
  readonly cursor: string | null
  readonly total: number | undefined
}

interface Position {
  cursor: string
  offset: number
  previous: string | null
}

const ASK_AGAIN_MS = 250

export async function* readChunks(
  calling: Calling,
  fetcher: Fetcher,
  uri: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const address = fetcher.resolve(uri)
  const at: Position = { cursor: '', offset: 0, previous: null }
  for (;;) {
    const { head, bytes } = await persist(calling, () => fetchChunk(calling, fetcher, address, at, signal), signal)
    await verify(head, bytes, at)
    yield bytes
    at.offset += bytes.length
    at.previous = head.checksum
    if (head.cursor === null) {
      if (head.total !== undefined && head.total !== at.offset)
        throw damaged(`the server announced ${head.total} bytes and sent ${at.offset}`)
      return
    }
    if (head.cursor === at.cursor) throw damaged(`the chunk after byte ${at.offset} has the same cursor`)
    at.cursor = head.cursor
  }
}

/** Waits while the server is still making the chunk. */
async function fetchChunk(
  calling: Calling,
  fetcher: Fetcher,
  address: URL,
  { cursor }: Position,
  signal: AbortSignal | undefined,
): Promise<{ head: ChunkHead; bytes: Uint8Array<ArrayBuffer> }> {
  const place = new URL(address)
  if (cursor !== '') place.searchParams.set('cursor', cursor)
  for (;;) {
    const response = await fetcher.fetch(place, { headers: { accept: 'application/octet-stream' }, signal })
    const { headers } = response
    try {
      if (response.ok && headers.has('call-chunk-checksum'))
        return { head: headIn(headers), bytes: new Uint8Array(await response.arrayBuffer()) }
      const answer = await envelopeIn(response)
      if (!response.ok) throw refused(response.status, answer)
      // A server without binary chunks sends them in JSON.
      if (answer.chunk) return jsonChunk(answer as Required<ChunkAnswer>)
      await calling.pause(answer.retryAfterMs ?? retryAfter(headers.get('retry-after')) ?? ASK_AGAIN_MS, signal)
    } catch (thrown) {
      throw lost(thrown, signal, place.href)
    }
  }
}

interface ChunkAnswer {
  cursor?: string | null
  chunk?: { offset: number; length: number; checksum: string; checksumPrevious: string | null }
  encoding?: string
  data?: string
  total?: number
  retryAfterMs?: number
  error?: { code?: string; message?: string }
}

async function envelopeIn(response: Response): Promise<ChunkAnswer> {
  const text = await response.text()
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Not JSON: handled as every other response that is no envelope.
  }
  throw new CallFault('NOT_OPENCALL', `The server responded with ${response.status} and no chunk.`, {
    outcome: 'failed',
    status: response.status,
  })
}

function headIn(headers: Headers): ChunkHead {
  const total = headers.get('call-total')
  return {
    offset: Number(headers.get('call-chunk-offset')),
    length: Number(headers.get('call-chunk-length')),
    checksum: headers.get('call-chunk-checksum') ?? '',
    previous: headers.get('call-chunk-checksum-previous'),
    cursor: headers.get('call-cursor'),
    total: total === null ? undefined : Number(total),
  }
}

function jsonChunk({ chunk, cursor, encoding, data, total }: Required<ChunkAnswer>): {
  head: ChunkHead
  bytes: Uint8Array<ArrayBuffer>
} {
  const { offset, length, checksum, checksumPrevious: previous } = chunk
  const text = String(data ?? '')
  const bytes = encoding === 'base64' ? fromBase64(text) : new TextEncoder().encode(text)
  return { head: { offset, length, checksum, previous, cursor: cursor ?? null, total }, bytes }
}

async function verify(head: ChunkHead, bytes: Uint8Array<ArrayBuffer>, at: Position): Promise<void> {
  if (head.offset !== at.offset) throw damaged(`a chunk begins at byte ${head.offset} instead of ${at.offset}`)
  if (head.length !== bytes.length)
    throw damaged(`the chunk at byte ${at.offset} has ${bytes.length} bytes, not ${head.length}`)
  if (head.previous !== at.previous) throw damaged(`the chunk at byte ${at.offset} does not follow the one before it`)
  if (head.checksum !== (await sha256(bytes))) throw damaged(`the chunk at byte ${at.offset} has a wrong checksum`)
}

function damaged(problem: string): CallFault {
  return new CallFault(
    'DAMAGED_RESULT',
    `The result arrived damaged: ${problem}. Discard what was read, and read it again.`,
    { outcome: 'failed' },
  )
}

function refused(status: number, { error }: ChunkAnswer): CallFault {
  return new CallFault(error?.code ?? 'RESULT_UNREADABLE', error?.message ?? `The server responded with ${status}.`, {
    outcome: 'failed',
    status,
  })
}
